package agents

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
)

// TestTaskPage follows a task of the real Python agent on its web page, in a browser: its
// progress, its segments with their spans, and the merged tree.
func TestTaskPage(t *testing.T) {
	needAgents(t)
	const web = "../../web"
	if _, err := os.Stat(web + "/node_modules/playwright-core"); err != nil {
		t.Fatal("the page is not tested: cd web && npm ci (Node 20)")
	}
	if !hasBrowser() {
		t.Fatal("the page is not tested: install Chromium, or set CHROMIUM")
	}
	c, shop := begin(t, "python", "shop-page")
	warm(t, c, shop)
	facts, err := json.Marshal(map[string]string{"url": shop.URL, "service": shop.Service, "instance": shop.Instance,
		"endpoint": shop.Endpoint, "slow": slowName(shop.Slow)})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "npm", "run", "--silent", "e2e", "agent")
	cmd.Dir = web
	cmd.Env = append(os.Environ(), "DENDRO_TEST_BINARY="+program.Path(), "DENDRO_PAGE="+c.s.HTTP, "DENDRO_SHOP="+string(facts))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1 passed") {
		t.Errorf("%v\n%s", err, out)
	}
}

func hasBrowser() bool {
	for _, path := range []string{os.Getenv("CHROMIUM"), "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"} {
		if _, err := os.Stat(path); path != "" && err == nil {
			return true
		}
	}
	return false
}

// slowName returns the name of the slow function as the page shows it.
func slowName(signature string) string {
	signature, _, _ = strings.Cut(signature, ":")
	return signature[strings.LastIndexAny(signature, "./")+1:]
}
