/** Where whole lines of text go. */
export interface TextOutput {
  write(text: string): void;
}
