export const chartDir: string;
/** What `npm run chart` writes into the chart, by path. */
export function chartFiles(): Promise<Map<string, string>>;
/** What it renders from the chart, by path. */
export function manifestFiles(): Promise<Map<string, string>>;
/** What `helm template` prints in the namespace kube-system; `templates` names those to show. */
export function renderChart(values: object, templates?: string[]): Promise<string>;
