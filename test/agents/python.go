package agents

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/dendroprof/dendro/test/cache"
	"github.com/dendroprof/dendro/test/inputs"
)

// The agent as pip names it, and the folder of its environment.
const (
	pythonAgent  = "apache-skywalking==1.2.0"
	pythonFolder = "skywalking-python-1.2.0"
)

//go:embed python/shop.py
var pythonShop string

// Python starts the shop in Python, whose agent reports to the server's gRPC
// address. Its files lie in dir.
func Python(ctx context.Context, dir, server, service string) (*Shop, error) {
	venv, err := pythonVenv(ctx, pythonFolder, pythonAgent)
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "shop.py")
	if err := os.WriteFile(program, []byte(pythonShop), 0o644); err != nil {
		return nil, err
	}
	s := &Shop{Service: service, Instance: service + "@test", Endpoint: "/checkout", Slow: "shop.py.load_prices:"}
	cmd := exec.CommandContext(ctx, filepath.Join(venv, "bin", "python"), program)
	cmd.Env = append(os.Environ(), "SW_AGENT_NAME="+s.Service, "SW_AGENT_INSTANCE_NAME="+s.Instance,
		"SW_AGENT_COLLECTOR_BACKEND_SERVICES="+server, "SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL=2",
		// Its default of 50 makes the sampler wait for the sender.
		"SW_AGENT_PROFILE_SNAPSHOT_TRANSPORT_BUFFER_SIZE=4500")
	return s, s.start(ctx, cmd)
}

// pythonVenv returns a Python environment with a package, in the folder of that name of the cache.
func pythonVenv(ctx context.Context, name, requirement string) (string, error) {
	return cache.Folder(name, func(dir string) error {
		if err := run(ctx, dir, "python3", "-m", "venv", "."); err != nil {
			return err
		}
		return run(ctx, dir, "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement)
	})
}

// run runs a command in a folder. Its error says what the command printed.
func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	inputs.Files(dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
