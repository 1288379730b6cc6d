import { Page } from '../ui/Page';

export default function Benchmark() {
  return <Page title="Benchmark" />;
}
