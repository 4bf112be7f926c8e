import { describeRouter } from './matrix.ts';
import { bird } from './routers/bird.ts';

describeRouter(bird);
