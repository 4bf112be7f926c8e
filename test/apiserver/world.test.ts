/**
 * The first stories of the world, told on the embedded server: our operator as
 * a process, three pools, 120 nodes, everything people do to pools and labels,
 * and all that the API server itself refuses.
 */
process.env.CADASTRE_TEST_APISERVER = 'embedded';
await import('../world/fresh-cluster.test.ts');
