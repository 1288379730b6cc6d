import { Page } from '../ui/Page';

export default function Report() {
  return <Page title="Report" />;
}
