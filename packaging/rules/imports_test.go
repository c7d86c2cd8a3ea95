package rules_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// leaves import nothing of hob's but each other, and may be imported by everybody.
var leaves = words("daemon/fail daemon/fsguard daemon/glob daemon/logfile daemon/mail daemon/netguard daemon/secret daemon/sys daemon/text daemon/walk")

// row is a line of the table "who may import whom": packages that match a pattern may import those that match the others.
// "*" stands for one part of a path; LEAVES for the leaves.
type row struct {
	pkg   string
	may   []string
	event bool // daemon/event too
}

// table is the design's. The first row that matches counts. A package that no row matches has no place in hob.
var table = []row{
	{pkg: "daemon/event"},
	{pkg: "config", may: words("config/*")},
	{pkg: "config/document", may: words("config config/schema")}, // changes of single keys of the file
	{pkg: "config/*"},                                            // the keys and what they take
	{pkg: "daemon/sandbox/entry"},                                // what runs inside: it imports nothing but syscall
	{pkg: "daemon/sandbox", may: words("daemon/sandbox/entry")},
	{pkg: "tools", event: true},
	{pkg: "channels", may: words("channels/markup config/schema"), event: true},
	{pkg: "scheduler", may: words("config/schema scheduler/spec scheduler/phrase"), event: true},
	{pkg: "scheduler/spec"},                                 // what a schedule means: pure
	{pkg: "scheduler/phrase", may: words("scheduler/spec")}, // and how people say it
	{pkg: "scheduler/gate", may: words("scheduler"), event: true},
	{pkg: "scheduler/filewatch", may: words("config/schema scheduler"), event: true}, // file watches
	{pkg: "scheduler/webhook", may: words("config/schema scheduler"), event: true},   // how webhooks are signed and read: pure
	{pkg: "daemon/llm", event: true},
	{pkg: "daemon/toolset", may: words("config daemon/embed tools tools/* daemon/llm daemon/memory daemon/triggers/gates daemon/sandbox"), event: true}, // the config becomes a set of tools
	{pkg: "channels/admin", may: words("channels daemon/api"), event: true},                                                                             // channels and pairings as the API sees them, and what the owner is told of them
	{pkg: "daemon/triggers", may: words("config/schema scheduler scheduler/* daemon/policy daemon/api tools tools/automation"), event: true},            // jobs, watches and webhooks as tools, API and config see them
	{pkg: "daemon/triggers/gates", may: words("scheduler scheduler/gate daemon/sandbox tools tools/runtime"), event: true},                              // how a gate is evaluated
	{pkg: "daemon/transcribe", may: words("config daemon/agent/turn daemon/modelapi"), event: true},                                                     // voice notes become words
	{pkg: "daemon/embed", may: words("config daemon/agent/turn daemon/modelapi"), event: true},                                                          // texts become vectors
	{pkg: "daemon/modelapi", may: words("daemon/agent/turn")},                                                                                           // one request to a server of OpenAI's API beside the chat
	{pkg: "daemon/record", event: true}, // the raw exchange with a server as a file
	{pkg: "daemon/policy", may: words("tools"), event: true},
	{pkg: "daemon/agent/turn", may: words("daemon/llm tools"), event: true},
	{pkg: "daemon/agent", may: words("daemon/agent/turn daemon/llm daemon/policy tools"), event: true},
	{pkg: "channels/all", may: words("channels channels/*")},
	{pkg: "tools/all", may: words("tools tools/* tools/fs/document daemon/sandbox"), event: true},
	{pkg: "channels/markup"},                       // Markdown in each platform's form: texts only
	{pkg: "channels/poll", may: words("channels")}, // receiving: what all adapters share
	{pkg: "channels/wire", may: words("channels")}, // HTTP: what the adapters that speak it share
	{pkg: "channels/*", may: words("channels channels/markup channels/poll channels/wire config/schema"), event: true},
	{pkg: "tools/runtime", may: words("tools daemon/sandbox"), event: true},
	{pkg: "daemon/memory", may: words("daemon/sqlite daemon/agent/turn"), event: true},        // the index has a database of its own; what it recalls begins a turn
	{pkg: "tools/memory", may: words("tools daemon/memory"), event: true},                     // asks it
	{pkg: "tools/automation", may: words("scheduler scheduler/filewatch tools"), event: true}, // whose rows are the scheduler's
	{pkg: "tools/*", may: words("tools tools/*/*"), event: true},
	// The process that reads both:
	{pkg: "tools/fs/document", may: words("tools/fs/picture")},
	{pkg: "tools/*/*"}, // the machine inside a tool: an engine, a format
	{pkg: "daemon/llm/all", may: words("daemon/llm daemon/llm/*")},
	{pkg: "daemon/llm/catalog", may: words("config daemon/agent/turn daemon/llm daemon/llm/builtin scheduler/phrase"), event: true}, // the config's sections become models
	{pkg: "daemon/oauth", event: true}, // signing in to services of others
	{pkg: "daemon/llm/*", may: words("daemon/llm daemon/llm/wire daemon/oauth"), event: true},                                                 // a backend
	{pkg: "daemon/artifacts", may: words("tools tools/sessions"), event: true},                                                                // what it opens is read by a tool
	{pkg: "daemon/mcp", may: words("config daemon/api daemon/oauth daemon/record daemon/sandbox tools tools/mcp tools/runtime"), event: true}, // connections to MCP servers
	{pkg: "daemon/account", may: words("daemon/api daemon/oauth tools tools/calendar"), event: true},                                          // the owner's accounts at services
	{pkg: "daemon/account/all", may: words("daemon/account daemon/account/* daemon/oauth tools tools/anthropic tools/gmail tools/linkedin")},
	{pkg: "daemon/account/*", may: words("daemon/oauth tools tools/calendar tools/gmail"), event: true}, // one kind of account
	{pkg: "daemon/skills", may: words("daemon/api tools tools/skills"), event: true},                    // folders that the owner accepts: read, hashed, copied
	{pkg: "daemon/store", may: words("daemon/api daemon/artifacts daemon/agent/turn daemon/llm scheduler scheduler/* channels daemon/policy tools tools/tasks daemon/sqlite"), event: true},
	{pkg: "daemon/archive", event: true}, // one file with everything: it knows no home
	{pkg: "daemon/sqlite", event: true},  // the database itself: it knows no table
	{pkg: "daemon/api/client", may: words("daemon/api"), event: true},
	{pkg: "daemon/api/completions", may: words("daemon/api daemon/llm"), event: true}, // OpenAI's protocol: requests and answers
	{pkg: "daemon/mcpserver", may: words("daemon/api tools"), event: true},            // hob's tools by MCP
	{pkg: "daemon/api/server", may: words("daemon/api daemon/api/completions daemon/mcpserver daemon/agent daemon/agent/turn daemon/policy tools"), event: true},
	{pkg: "daemon/console", may: words("channels/markup daemon/api daemon/api/client"), event: true},                                                                                                          // the terminal's side of the client
	{pkg: "daemon/api", may: words("channels daemon/agent/turn daemon/policy daemon/llm daemon/llm/catalog daemon/memory daemon/record daemon/sandbox scheduler scheduler/* tools tools/tasks"), event: true}, // rows and verbs: the types of everybody who has some
	{pkg: "packaging/bench", may: words("daemon/api/client daemon/store/storetest")},                                                                                                                          // measures the program from outside
	{pkg: "packaging/*", event: true},
	{pkg: "cmd/hob/cli", may: words("config daemon/api daemon/api/client daemon/console scheduler"), event: true},
	{pkg: "cmd/hob/setup", may: words("cmd/hob/cli config config/* daemon daemon/api daemon/api/client daemon/console"), event: true},                                    // asks, writes, tries out
	{pkg: "cmd/hob/doctor", may: words("cmd/hob/cli config daemon daemon/api daemon/api/client daemon/console daemon/fsguard packaging/service scheduler"), event: true}, // looks from outside
	{pkg: "cmd/hob/importer", may: words("cmd/hob/cli daemon/api daemon/api/client daemon/console daemon/sqlite scheduler scheduler/spec")},                              // reads another program's folder
	{pkg: "cmd/hob", may: words("cmd/hob/cli cmd/hob/doctor cmd/hob/importer cmd/hob/setup config config/* daemon daemon/api daemon/api/client daemon/console daemon/mcpserver packaging packaging/* scheduler scheduler/*"), event: true},
	{pkg: "daemon", may: words("* */* */*/*"), event: true},
}

func words(s string) []string { return strings.Fields(s) }

// hob is the path inside the module of an import, "" for one from outside.
func hob(imported string) string {
	inside, ok := strings.CutPrefix(imported, module+"/")
	if !ok {
		return ""
	}
	return inside
}

func matches(pattern, pkg string) bool {
	ok, err := path.Match(pattern, pkg)
	return ok && err == nil
}

// checkImports keeps the table. Tests are free but for the store, which only tests below daemon may open.
func checkImports(all []source) []string {
	var found []string
	for _, s := range all {
		for _, imported := range s.paths() {
			to := hob(imported)
			switch {
			case to == "" || to == s.dir:
			case s.dir == "packaging/bench" && to == "daemon/store/storetest": // it measures large homes, and never ships
			case !s.test && support(to):
				found = append(found, fmt.Sprintf("%s imports %s, which is for tests", s.path, to))
			case below(to, "daemon/store") && !mayStore(s):
				found = append(found, fmt.Sprintf("%s imports %s: only daemon may", s.path, to))
			case !s.test && !mayImport(s.dir, to):
				found = append(found, fmt.Sprintf("%s imports %s: the table in imports_test.go does not allow it", s.path, to))
			}
		}
	}
	return found
}

func mayStore(s source) bool {
	return s.dir == "daemon" || below(s.dir, "daemon/store") || s.test && below(s.dir, "daemon")
}

// below reports whether a package is dir or stands below it.
func below(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }

func mayImport(from, to string) bool {
	if slices.Contains(leaves, from) {
		return slices.Contains(leaves, to)
	}
	i := slices.IndexFunc(table, func(r row) bool { return matches(r.pkg, from) })
	if i < 0 {
		return false
	}
	r := table[i]
	return slices.Contains(leaves, to) || r.event && to == "daemon/event" ||
		slices.ContainsFunc(r.may, func(p string) bool { return matches(p, to) })
}

// checkPlaces wants a row for every package.
func checkPlaces(all []source) []string {
	var found []string
	seen := map[string]bool{}
	for _, s := range all {
		known := support(s.dir) || slices.Contains(leaves, s.dir) || slices.ContainsFunc(table, func(r row) bool { return matches(r.pkg, s.dir) })
		if !known && !seen[s.dir] {
			found = append(found, s.dir+" has no row in the table of imports_test.go: where does it belong?")
		}
		seen[s.dir] = true
	}
	return found
}

// checkTestModules keeps the libraries of tests out of the binary: the SDK of Anthropic would add 5.6 MB.
func checkTestModules(all []source) []string {
	var found []string
	for _, s := range shipped(all) {
		for _, imported := range s.paths() {
			for _, module := range words("github.com/anthropics/anthropic-sdk-go github.com/google/go-cmp github.com/rogpeppe/go-internal pgregory.net/rapid") {
				if imported == module || strings.HasPrefix(imported, module+"/") {
					found = append(found, s.path+" imports "+imported+", which is for tests")
				}
			}
		}
	}
	return found
}

// checkTemplates keeps reflection on methods out, which would stop the linker from dropping dead code (30 MB become 50 MB).
func checkTemplates(all []source) []string {
	var found []string
	for _, s := range shipped(all) {
		for _, imported := range s.paths() {
			if imported == "text/template" || imported == "html/template" {
				found = append(found, s.path+" imports "+imported+", which makes the binary half as large again")
			}
		}
	}
	return found
}
