// A short link: shows the page of the address that the store keeps for it.
import { useEffect } from 'preact/hooks';
import { place, replaceWith } from '../core/url';
import { Await, useAnswer } from '../ui/Load';
import { Page } from '../ui/Page';

export default function Short() {
  const answer = useAnswer<{ address: string }>(`links/${place.value.params.get('link') ?? ''}`);
  const address = answer.value?.address;
  useEffect(() => {
    if (address) replaceWith(address);
  }, [address]);
  return (
    <Page title="Link">
      <Await of={answer} what="the link">
        {() => null}
      </Await>
    </Page>
  );
}
