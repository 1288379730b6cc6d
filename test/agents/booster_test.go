package agents

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
)

// TestBooster walks Booster, SkyWalking's UI until version 10, in a browser: the server has
// data of the real Java agent. DENDRO_BOOSTER is the folder of the built UI, such as `public` of
// skywalking-webapp.jar in a release of SkyWalking 10, or `none`: the test says aloud that it is
// left out, and fails where nobody has decided.
func TestBooster(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	needReal(t)
	ui := os.Getenv("DENDRO_BOOSTER")
	switch {
	case ui == "none":
		t.Skip("DENDRO_BOOSTER=none: Booster is not tested")
	case ui == "":
		t.Fatal("there is no Booster to test: set DENDRO_BOOSTER to the folder of the built UI (`public` of skywalking-webapp.jar in SkyWalking 10, or `dist` of apache/skywalking-booster-ui), or to none")
	}
	if _, err := os.Stat(filepath.Join(ui, "index.html")); err != nil {
		t.Fatalf("DENDRO_BOOSTER is no built UI: %v", err)
	}
	const web = "../../web"
	if _, err := os.Stat(web + "/node_modules/playwright-core"); err != nil {
		t.Fatal("Booster is not tested: cd web && npm ci")
	}
	if !hasBrowser() {
		t.Fatal("Booster is not tested: install Chromium, or set CHROMIUM")
	}
	t.Parallel()
	c, shop := begin(t, "java", "shop-ui")
	warm(t, c, shop)
	task := c.create(shop)
	sample(t, c, shop, task)
	recording(t, c, shop)
	facts, err := json.Marshal(map[string]string{"service": shop.Service, "instance": shop.Instance, "endpoint": shop.Endpoint,
		"slow": slowName(shop.Slow), "spin": "Shop.spin"})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "npm", "run", "--silent", "e2e", "booster")
	cmd.Dir = web
	cmd.Env = append(os.Environ(), "DENDRO_TEST_BINARY="+program.Path(), "DENDRO_PAGE="+c.s.HTTP, "DENDRO_SHOP="+string(facts),
		"DENDRO_BOOSTER="+ui)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1 passed") {
		t.Errorf("%v\n%s", err, out)
	}
}
