import { describeRouter } from './matrix.ts';
import { openbgpd } from './routers/openbgpd.ts';

describeRouter(openbgpd);
