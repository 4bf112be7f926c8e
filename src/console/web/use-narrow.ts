import { useEffect, useState } from 'preact/hooks';

/** As in the style sheets: a phone. */
const query = '(max-width: 760px)';

export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const read = () => setNarrow(media.matches);
    media.addEventListener('change', read);
    return () => media.removeEventListener('change', read);
  }, []);
  return isNarrow;
}
