package agents

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/dendroprof/dendro/test/cache"
)

// The Java agent as Maven Central has it.
const (
	javaAgent    = "https://repo1.maven.org/maven2/org/apache/skywalking/apm-agent/9.4.0/apm-agent-9.4.0.jar"
	javaAgentSum = "bacf78209aa3ad51ee983dad94d05ad767d11d239234369aee71f3976702b5ac"
)

//go:embed java/*.java
var javaSources embed.FS

// Java starts the shop in Java, whose agent reports to the server's gRPC address.
// Its files lie in dir. The agent's own plugins are not on Maven Central, so a
// plugin of the shop's makes the entry spans.
func Java(ctx context.Context, dir, server, service string) (*Shop, error) {
	release, err := cache.Folder("skywalking-java-9.4.0", func(dir string) error {
		return cache.Download(ctx, javaAgent, javaAgentSum, filepath.Join(dir, "skywalking-agent.jar"))
	})
	if err != nil {
		return nil, err
	}
	agent, err := buildJava(ctx, dir, filepath.Join(release, "skywalking-agent.jar"))
	if err != nil {
		return nil, err
	}
	s := &Shop{Service: service, Instance: service + "@test", Endpoint: "GET:/checkout", Slow: "Shop.loadPrices:"}
	return s, s.start(ctx, exec.CommandContext(ctx, "java", "-Xmx128m", "-javaagent:"+agent,
		"-Dskywalking.agent.service_name="+s.Service, "-Dskywalking.agent.instance_name="+s.Instance,
		"-Dskywalking.collector.backend_service="+server, "-Dskywalking.collector.get_profile_task_interval=2",
		"-Dskywalking.collector.grpc_channel_check_interval=1",
		"-cp", filepath.Join(dir, "shop"), "Shop"))
}

// buildJava compiles the shop and its plugin and lays out the agent around them:
// it looks for plugins and its configuration beside its jar.
func buildJava(ctx context.Context, dir, jar string) (agent string, err error) {
	for _, folder := range []string{"source", "shop", "plugin", "agent/plugins", "agent/activations", "agent/config"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return "", err
		}
	}
	sources, err := fs.Sub(javaSources, "java")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(filepath.Join(dir, "source"), sources); err != nil {
		return "", err
	}
	for name, text := range map[string]string{"agent/config/agent.config": "", "plugin/skywalking-plugin.def": "shop=ShopPlugin\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	agent = filepath.Join(dir, "agent", "skywalking-agent.jar") // a link would be followed, to where the plugin is not
	data, err := os.ReadFile(jar)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(agent, data, 0o644); err != nil {
		return "", err
	}
	for _, command := range [][]string{
		{"javac", "-d", "shop", "source/Shop.java"},
		{"javac", "-cp", jar, "-d", "plugin", "source/ShopPlugin.java", "source/EntrySpan.java"},
		{"jar", "cf", "agent/plugins/shop.jar", "-C", "plugin", "."},
	} {
		if err := run(ctx, dir, command[0], command[1:]...); err != nil {
			return "", err
		}
	}
	return agent, nil
}
