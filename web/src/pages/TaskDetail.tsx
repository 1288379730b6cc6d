import { Page } from '../ui/Page';

export default function TaskDetail() {
  return <Page title="Task" />;
}
