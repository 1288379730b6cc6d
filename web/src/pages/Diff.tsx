import { Page } from '../ui/Page';

export default function Diff() {
  return <Page title="Diff" />;
}
