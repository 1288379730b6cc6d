import { Page } from '../ui/Page';

export default function Tasks() {
  return <Page title="Tasks" />;
}
