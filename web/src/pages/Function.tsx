import { Page } from '../ui/Page';

export default function Function() {
  return <Page title="Function" />;
}
