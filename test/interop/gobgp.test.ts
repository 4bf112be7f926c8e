import { describeRouter } from './matrix.ts';
import { gobgp } from './routers/gobgp.ts';

describeRouter(gobgp);
