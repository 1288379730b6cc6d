import { Page } from '../ui/Page';

export default function Home() {
  return <Page title="Home" />;
}
