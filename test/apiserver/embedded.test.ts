import { contract } from './contract/contract.ts';

contract('embedded');
