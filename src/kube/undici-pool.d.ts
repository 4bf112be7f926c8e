/** The one part of undici that is used, by its own file; the types are those of the package. */
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici';
  export default Pool;
}
