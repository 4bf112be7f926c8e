/** What the last stage of deploy/Dockerfile tells a runtime, as an image's configuration has it. */
export function imageSettings(args: Record<string, string>): {
  User: string;
  Env: string[];
  Entrypoint: string[];
  WorkingDir: string;
  Labels: Record<string, string>;
};
