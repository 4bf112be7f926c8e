/** Where the embedded API server answers a hostile request with another status, and why it may. */
const apply = 'application/apply-patch\\+yaml';

export const differences: { what: RegExp; why: string }[] = [
  {
    what: new RegExp(`Widget: ${apply}, metadata\\.(creation|deletion)Timestamp is `),
    why: 'a time that is none is refused; the real one drops it unread from what is applied',
  },
  {
    what: new RegExp(`: ${apply}, .* is a list with null$`),
    why: 'a null in a list is judged before whose field the list is',
  },
  {
    what: new RegExp(`: ${apply}, .* is a number beyond a double$`),
    why: 'a number beyond a double is no number; the real one takes it for a text in YAML',
  },
  {
    what: new RegExp(`Widget: ${apply}, .* is null$`),
    why: 'a null that is applied says nothing, for any kind; the real one judges it in custom ones',
  },
  {
    what: /metadata\.deletionGracePeriodSeconds is /,
    why: 'the server sets the time of grace: what a client says of it is dropped, or unreadable',
  },
  {
    what: /CustomResourceDefinition: .*openAPIV3Schema\.items is /,
    why: 'items that are no schema cannot be read; the real one ignores them',
  },
];
