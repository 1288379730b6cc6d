package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Jars returns the folder with the jars of Maven artifacts (group:artifact:version)
// and of all that these need at run time. Maven (mvn) downloads them if the folder
// of that name is not there yet.
func Jars(ctx context.Context, name string, artifacts ...string) (string, error) {
	all, err := Dir()
	if err != nil {
		return "", err
	}
	return Folder(name, func(dir string) error {
		maven, err := exec.LookPath("mvn")
		if err != nil {
			return fmt.Errorf("it is not in %s, and Maven (mvn), which downloads it, is not on the PATH", all)
		}
		if err := os.WriteFile(filepath.Join(dir, "pom.xml"), []byte(pom(artifacts)), 0o644); err != nil {
			return err
		}
		unlock, err := lock(filepath.Join(all, "maven.lock")) // its repository is for one process
		if err != nil {
			return err
		}
		defer unlock()
		c := exec.CommandContext(ctx, maven, "-B", "-ntp", "-q", "-Dmaven.repo.local="+filepath.Join(all, "maven"),
			"org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=.")
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("downloading with Maven: %w\n%s", err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
		return nil
	})
}

// lock waits for a file that other processes may have locked.
func lock(name string) (unlock func() error, err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// pom returns a project that depends on artifacts.
func pom(artifacts []string) string {
	var b strings.Builder
	b.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dendro.test</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
`)
	for _, a := range artifacts {
		part := strings.SplitN(a, ":", 3)
		fmt.Fprintf(&b, "    <dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n", part[0], part[1], part[2])
	}
	b.WriteString("  </dependencies>\n</project>\n")
	return b.String()
}
