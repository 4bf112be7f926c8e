import { describeRouter } from './matrix.ts';
import { frr } from './routers/frr.ts';

describeRouter(frr);
