import { describeRouter } from './matrix.ts';
import { exabgp } from './routers/exabgp.ts';

describeRouter(exabgp);
