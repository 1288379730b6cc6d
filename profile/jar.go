package profile

import "regexp"

var jarFile = regexp.MustCompile(`(?:^|[/\\])([\w.-]+?)-(\d[\w.+-]*)\.jar$`)

// JARVersion returns the artifact and the version that the path of a JAR tells,
// "/m2/gson/2.13.1/gson-2.13.1.jar". It is false for other files, and JARs without a version.
func JARVersion(file string) (artifact, version string, ok bool) {
	m := jarFile.FindStringSubmatch(file)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}
