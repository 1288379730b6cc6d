package record

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/ingest"
)

// Limits of a download. The size is limited as that of files, by --max-size.
const (
	downloadHeader = 30 * time.Second // until the answer begins
	downloadWhole  = time.Hour
	downloadHops   = 5 // redirections
)

// download is the client of addresses that a user named on the command line. A server
// imports only what it is sent.
func download() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = downloadHeader
	return &http.Client{Transport: t, Timeout: downloadWhole, CheckRedirect: func(to *http.Request, via []*http.Request) error {
		switch {
		case to.URL.Scheme != "https":
			return fmt.Errorf("redirected to %s, which is not https", to.URL.Redacted())
		case len(via) > downloadHops:
			return fmt.Errorf("more than %d redirections", downloadHops)
		}
		return nil
	}}
}

// withDownloads returns the sources of https addresses among arguments, and the other
// arguments.
func withDownloads(client *http.Client, args []string) (sources []ingest.Source, rest []string, err error) {
	for _, arg := range args {
		scheme, _, found := strings.Cut(arg, "://")
		switch {
		case !found:
			rest = append(rest, arg)
			continue
		case scheme != "https":
			return nil, nil, command.Usagef("%s: import reads files and addresses of https://, s3://, gs:// and azblob://", scheme+"://…")
		}
		u, err := url.Parse(arg)
		if err != nil || u.Host == "" {
			return nil, nil, command.Usagef("an address is not https://HOST/PATH")
		}
		// The name has no query and no password: signatures are secrets.
		name := u.Host + u.Path
		sources = append(sources, ingest.Source{Name: name, Named: true, Open: func() (io.ReadCloser, error) {
			r, err := client.Get(arg)
			if err != nil {
				if e, ok := err.(*url.Error); ok {
					err = e.Err // without the address
				}
				return nil, err
			}
			if r.StatusCode != http.StatusOK {
				r.Body.Close()
				return nil, fmt.Errorf("the server answers %s", r.Status)
			}
			return r.Body, nil
		}})
	}
	return sources, rest, nil
}
