// Package own tells the code that a user can change from the code of runtimes,
// standard libraries and dependencies.
//
// A user can say which code it is: prefixes of packages, modules or source
// directories. Otherwise the names and files of functions decide: the directories of
// package managers, the packages of a standard library and of well-known libraries are
// not the user's. Of the rest of a Go or Java program only the module that begins most
// stacks is the user's, because names do not tell a library from an application.
package own

import (
	"math"
	"path"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Functions returns for every function of a table whether it is the user's own. Prefixes
// are packages (com.acme, github.com/acme/shop) or source directories (src/main); those
// that match no function are ignored, and without a match names and files decide. Package
// main of a Go program is always the user's.
// Samples are the self samples of every node.
func Functions(t *calltree.Table, samples []float64, prefixes []string) []bool {
	is := make([]bool, len(t.Functions))
	matched := false
	for i := range t.Functions {
		is[i] = hasPrefix(&t.Functions[i], prefixes)
		matched = matched || is[i]
	}
	c := classes(t)
	exceptRoots(t, samples, c)
	if matched {
		for i := range c {
			is[i] = is[i] || c[i].own && strings.HasPrefix(t.Functions[i].Name, "main.") // a module's package main has no path
		}
		return is
	}
	key := outermost(t, samples, c, "")
	keys := []string{key}
	if slices.Contains(harnesses, key) {
		keys = append(keys, outermost(t, samples, c, key))
	}
	for i := range c {
		is[i] = c[i].own || c[i].module != "" && slices.Contains(keys, c[i].module)
	}
	return is
}

// Of returns for every function of a table whether it is the user's own. Samples are the self
// values of every node, of one or two sides.
func Of(t *calltree.Table, samples ...[]int64) []bool {
	sum := make([]float64, t.Len())
	for _, side := range samples {
		for n, v := range side {
			sum[n] += math.Abs(float64(v))
		}
	}
	return Functions(t, sum, nil)
}

// Runtime returns for every function of a table whether it belongs to a runtime or the
// kernel: collector, compiler, scheduler, system calls. In a program of the JVM all native
// code does.
func Runtime(t *calltree.Table) []bool {
	goProgram, jvm, is := isGo(t), isJVM(t), make([]bool, len(t.Functions))
	for i := range t.Functions {
		is[i] = isRuntime(&t.Functions[i], goProgram, jvm)
	}
	return is
}

// isGo reports whether a table is that of a Go program.
func isGo(t *calltree.Table) bool {
	return slices.ContainsFunc(t.Functions, func(fn profile.Function) bool {
		return fn.Kind == profile.KindGo || fn.Kind == profile.KindGoRuntime || fn.Name == "runtime.main" || fn.Name == "runtime.mallocgc" ||
			strings.HasPrefix(fn.Name, "main.main")
	})
}

// isJVM reports whether a table is that of a program of the JVM. In text, single functions
// of others look like methods of Java.
func isJVM(t *calltree.Table) bool {
	return !isGo(t) && slices.ContainsFunc(t.Functions, func(fn profile.Function) bool { return fn.Kind == profile.KindJava })
}

// isRuntime reports whether a function of such a program is one of a runtime.
func isRuntime(fn *profile.Function, goProgram, jvm bool) bool {
	switch fn.Kind {
	case profile.KindKernel, profile.KindVM, profile.KindStub, profile.KindGoRuntime:
		return true
	case profile.KindNative, profile.KindCPP, profile.KindUnknown:
		return jvm || goProgram && strings.HasPrefix(fn.Name, "runtime.")
	}
	return false
}

// harnesses are modules that call the user's code rather than being all of it.
var harnesses = strings.Fields("bench benchmark benchmarks harness jmh main perf run runner test tests")

// roots are names that tools of flame graphs put above all stacks.
var roots = strings.Fields("all root (root) <root> total (all)")

// exceptRoots takes the class from functions that are only the outermost frame of stacks and
// no code: the root of flame-graph files, and names of processes and threads. In a
// program of native code alone the outermost frame may have any name, and main is code.
func exceptRoots(t *calltree.Table, samples []float64, c []class) {
	called, busy, managed := make([]bool, len(c)), make([]bool, len(c)), false
	for n, fn := range t.Func {
		called[fn] = called[fn] || t.Parent[n] != calltree.NoNode
		busy[fn] = busy[fn] || samples[n] > 0
	}
	for i := range t.Functions {
		switch t.Functions[i].Kind {
		case profile.KindJava, profile.KindGo, profile.KindGoRuntime, profile.KindPython, profile.KindJS, profile.KindRuby, profile.KindPHP,
			profile.KindDotNet:
			managed = true
		}
	}
	for i := range c {
		fn := &t.Functions[i]
		switch {
		case called[i] || fn.File != "":
		case slices.Contains(roots, fn.Name), !busy[i] && (!managed && fn.Name != "main" || managed && isLabel(fn.Name)):
			c[i] = class{}
		}
	}
}

// isLabel reports whether a name is that of a process or thread: it has no package, or
// characters that no name of a function has.
func isLabel(name string) bool {
	return !strings.Contains(name, ".") || strings.ContainsAny(name, " -#@:")
}

// hasPrefix reports whether a function is in one of the packages or directories.
func hasPrefix(fn *profile.Function, prefixes []string) bool {
	file := strings.ReplaceAll(fn.File, `\`, "/")
	return slices.ContainsFunc(prefixes, func(p string) bool {
		p = strings.TrimRight(strings.ReplaceAll(p, `\`, "/"), "/.*")
		return p != "" && (begins(fn.Name, p) || begins(fn.Name, strings.ReplaceAll(p, "/", ".")) || begins(file, p) ||
			strings.Contains(file, "/"+strings.TrimLeft(p, "/")+"/"))
	})
}

// begins reports whether a name begins with a whole package or directory.
func begins(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && (rest == "" || strings.ContainsRune("./:$(", rune(rest[0])))
}

// class is what a function's name and file tell.
type class struct {
	own    bool   // certainly the user's
	module string // otherwise the module that may be; empty: not the user's
}

func classes(t *calltree.Table) []class {
	goProgram, jvm, list := isGo(t), isJVM(t), make([]class, len(t.Functions))
	for i := range list {
		if !isRuntime(&t.Functions[i], goProgram, jvm) {
			list[i] = classOf(&t.Functions[i], goProgram)
		}
	}
	return list
}

func classOf(fn *profile.Function, goProgram bool) class {
	switch fn.Kind {
	case profile.KindClass, profile.KindLabel, profile.KindJSLabel:
		return class{}
	}
	if fn.Name == "" || fn.Name[0] == '[' || installed(fn.File) {
		return class{}
	}
	switch {
	case goProgram && fn.Kind != profile.KindCPP && fn.Kind != profile.KindRust:
		return goClass(fn)
	case fn.Kind == profile.KindJava:
		return javaClass(fn.Name)
	case fn.Kind == profile.KindPython, fn.Kind == profile.KindJS, fn.Kind == profile.KindRuby, fn.Kind == profile.KindPHP:
		return class{own: fn.File != "" && fn.File[0] != '<' && strings.ContainsAny(fn.File, "./")}
	case fn.Kind == profile.KindDotNet:
		return class{own: !anyPrefix(fn.Name, "System.", "Microsoft.", "Interop")}
	}
	return class{own: !anyPrefix(implementer(fn.Name), "std::", "__", "core::", "alloc::", "criterion::", "tokio::", "boost::",
		"_start", "clone", "start_thread", "pthread_", "malloc", "free", "mem") &&
		!anyPrefix(path.Base(fn.Module), "libc.", "libc-", "libm.", "libpthread", "libstdc++", "ld-", "libgcc")}
}

// implementer returns the name of the type that a method `<type as trait>::method` of Rust is of, or of its trait if
// the type is one of the language or a parameter; of other functions their name.
func implementer(name string) string {
	of, ok := strings.CutPrefix(name, "<")
	if !ok {
		return name
	}
	if kind, trait, ok := strings.Cut(of, " as "); ok && !strings.Contains(kind, "::") {
		return trait
	}
	return strings.TrimPrefix(strings.TrimLeft(of, "&<[(*"), "mut ")
}

// installed reports whether a package manager or a toolchain put a file where it is.
func installed(file string) bool {
	file = strings.ReplaceAll(file, `\`, "/")
	if anyPrefix(file, "node:", "<frozen", "internal/", "/usr/include/", "/usr/lib/", "/rustc/") {
		return true
	}
	if at := strings.IndexByte(file, '@'); at > 0 && strings.HasPrefix(file[at:], "@v") {
		return true // a Go module of a version, with or without the module cache's directory
	}
	for _, dir := range []string{"/pkg/mod/", "/vendor/", "/site-packages/", "/dist-packages/", "/node_modules/", "/lib/python",
		"/.cargo/registry/", "/rustlib/", "/gems/"} {
		if strings.Contains("/"+file, dir) {
			return true
		}
	}
	return false
}

func anyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// goStandard are the first elements of Go's standard packages.
var goStandard = strings.Fields(`archive bufio bytes cmp cmd compress container context crypto database debug embed
	encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
	reflect regexp runtime simd slices sort strconv strings structs sync syscall testing text time type: unicode unique
	unsafe vendor weak`)

// goClass tells by the package of a function, `host/owner/name/dir.(*T).Method`. Files
// of dependencies have a version, so a file without one is the user's.
func goClass(fn *profile.Function) class {
	slash := strings.LastIndexByte(fn.Name, '/') + 1
	if bracket := strings.IndexByte(fn.Name, '['); bracket >= 0 && bracket < slash { // type parameters
		slash = strings.LastIndexByte(fn.Name[:bracket], '/') + 1
	}
	dot := strings.IndexByte(fn.Name[slash:], '.')
	if dot < 0 {
		return class{}
	}
	pkg := fn.Name[:slash+dot]
	if pkg == "main" {
		return class{own: true}
	}
	elements := strings.SplitN(pkg, "/", 4)
	if slices.Contains(goStandard, elements[0]) || anyPrefix(pkg, "golang.org/x/", "google.golang.org/", "go.opentelemetry.io/", "k8s.io/") ||
		strings.HasPrefix(fn.Name, "_cgo") {
		return class{}
	}
	if strings.Contains(fn.File, "/") {
		return class{own: true}
	}
	if !strings.Contains(elements[0], ".") {
		return class{module: elements[0]}
	}
	return class{module: strings.Join(elements[:min(3, len(elements))], "/")}
}

// javaLibraries are the packages of the JDK, of other languages of the JVM and of
// libraries that are in many programs.
var javaLibraries = strings.Fields(`java. javax. jdk. sun. com.sun. jakarta. kotlin. kotlinx. scala. groovy. clojure. akka. org.apache.
	org.codehaus. org.eclipse. org.glassfish. org.gradle. org.h2. org.hibernate. org.jboss. org.jctools. org.jetbrains. org.joda. org.json.
	org.jsoup. org.junit. org.mockito. org.openjdk. org.postgresql. org.reactivestreams. org.slf4j. org.springframework. org.testng.
	org.xerial. org.xnio. org.yaml. org.w3c. org.xml. com.amazonaws. com.esotericsoftware. com.fasterxml. com.github.benmanes. com.google. com.lmax. com.mysql.
	com.squareup. com.thoughtworks. com.typesafe. com.zaxxer. ch.qos. io.dropwizard. io.grpc. io.lettuce. io.micrometer. io.micronaut.
	io.netty. io.opentelemetry. io.projectreactor. io.quarkus. io.reactivex. io.smallrye. io.undertow. io.vertx. it.unimi. net.bytebuddy.
	net.sf. okhttp3. okio. one.profiler. reactor. redis.clients. rx. worker.org.gradle. antlr. bsh. feign. freemarker. gnu.
	graphql. javassist. javolution. jline. jnr. junit. lombok. oracle. picocli. retrofit2. zipkin2.`)

// domains are first elements of packages that many owners share.
var domains = strings.Fields("com org net io de at ch fr it nl uk eu us jp cn in br ru pl se no fi dk es co dev app me info edu gov ai cloud tech")

// javaClass tells by the package: com.acme is one module, shop another.
func javaClass(name string) class {
	if anyPrefix(name, javaLibraries...) {
		return class{}
	}
	elements := strings.Split(name, ".")
	switch {
	case len(elements) <= 2: // Class.method: the package without a name
		return class{own: len(elements) == 2}
	case len(elements) > 3 && slices.Contains(domains, elements[0]):
		return class{module: elements[0] + "." + elements[1]}
	}
	return class{module: elements[0]}
}

// outermost returns the module that may be the user's, other than one to skip, and is the
// first on the stacks of most samples. It is empty where functions that are certainly the
// user's come first.
func outermost(t *calltree.Table, samples []float64, c []class, skip string) string {
	weight := map[string]float64{}
	const none, certain = "", "\x00"
	first := make([]string, t.Len())
	for n := range first {
		if p := t.Parent[n]; p != calltree.NoNode && first[p] != none {
			first[n] = first[p]
		} else if k := c[t.Func[n]]; k.own {
			first[n] = certain
		} else if k.module != skip {
			first[n] = k.module
		}
		if first[n] != none {
			weight[first[n]] += samples[n]
		}
	}
	best := none
	for key, w := range weight {
		if best == none || w > weight[best] || w == weight[best] && key < best {
			best = key
		}
	}
	if best == certain {
		return none
	}
	return best
}
