// Pages whose code is loaded when they are opened, so that the others open sooner.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Failure, Waiting } from './Load';

/** The page that a module exports. */
export function later<P extends object>(load: () => Promise<{ default: ComponentType<P> }>): ComponentType<P> {
  let Page: ComponentType<P> | undefined;
  return function Later(props: P) {
    const [error, failed] = useState<Error>();
    const [, loaded] = useState(false);
    useEffect(() => {
      if (!Page)
        load().then(
          module => {
            Page = module.default;
            loaded(true);
          },
          err => failed(err instanceof Error ? err : new Error(String(err))),
        );
    }, []);
    if (error) return <Failure error={error} what="this page" retry={() => location.reload()} />;
    return Page ? <Page {...props} /> : <Waiting />;
  };
}
