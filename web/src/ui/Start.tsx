// What fills a store, each with the command to copy.

interface Props {
  title: string;
  text: string;
  command: string;
}

export const Start = ({ title, text, command }: Props) => (
  <section class="card findings">
    <h2>{title}</h2>
    <p class="dim">{text}</p>
    <pre class="command" tabIndex={0} aria-label={title}>
      {command}
    </pre>
  </section>
);

export const StartSdk = () => (
  <Start title="Point an SDK here" text="Of Pyroscope or OpenTelemetry, at a server that keeps what they push:" command={`dendro serve --continuous\nPYROSCOPE_SERVER_ADDRESS=${location.origin}`} />
);

/** What agents need that sample slow requests. */
export const StartAgent = () => (
  <Start
    title="Trace slow requests"
    text="A SkyWalking agent reports its endpoints to the gRPC address of this server, and samples the threads of slow requests when a task asks for it:"
    command={`SW_AGENT_COLLECTOR_BACKEND_SERVICES=${location.hostname}:11800`}
  />
);
