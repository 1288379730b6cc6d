import { Page } from '../ui/Page';

export default function Profile() {
  return <Page title="Profile" />;
}
