import { Page } from '../ui/Page';

export default function Regressions() {
  return <Page title="Regressions" />;
}
