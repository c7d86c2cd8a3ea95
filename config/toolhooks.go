package config

import (
	"path"
	"reflect"
	"strings"

	"hob/config/schema"
)

// ToolHook is one of [[tool_hooks]]: a command of the owner that runs around tool calls. When the section is off, Tools.Deny contains
// everything: a mistake must not let a call pass that a hook would have refused.
type ToolHook struct {
	Tools   []string `toml:"tools"`   // patterns for tool names, in the syntax of path.Match; at least one
	When    string   `toml:"when"`    // "before" or "after"
	Command string   `toml:"command"` // run by the shell; not empty
}

const toolHooks = "tool_hooks"

// hooks reads [[tool_hooks]]. A mistake in any of them denies every tool.
func (l *loader) hooks() {
	n := l.root.child(toolHooks)
	if n == nil {
		return
	}
	good := n.list != nil
	if !good {
		d := &decoder{file: l.file, section: toolHooks}
		d.add(n, n.value, toolHooks, "want tables, each written [["+toolHooks+"]], found "+n.kind(), "", true)
		l.problems = append(l.problems, d.problems...)
	}
	// All tables are read, even after a mistake, so that one run reports everything.
	var all []ToolHook
	for _, one := range n.list {
		var h ToolHook
		good = typed(l, one, toolHooks, &h, checkToolHook) && good
		all = append(all, h)
	}
	if good {
		l.snap.ToolHooks = all
		return
	}
	l.snap.off[toolHooks] = true
	l.snap.Tools.Deny = []string{DenyAll}
}

// checkToolHook requires every key: a missing or misspelt one would make a hook that never runs.
func checkToolHook(c *checks, h *ToolHook) {
	for _, key := range sorted(keysOf(schema.Fields(reflect.ValueOf(h).Elem()))) {
		if !c.given(key) {
			c.wrong(key, "missing")
		}
	}
	if c.given("tools") && len(h.Tools) == 0 {
		c.wrong("tools", "want the names of tools, or patterns like \"web_*\"")
	}
	for i, pattern := range h.Tools {
		if _, err := path.Match(pattern, ""); err != nil || strings.TrimSpace(pattern) == "" {
			c.note("tools", c.at("tools").element(i), true, "tools: want a name of a tool, or a pattern like \"web_*\", found "+Quote(pattern))
		}
	}
	if c.given("command") && strings.TrimSpace(h.Command) == "" {
		c.wrong("command", "it is empty")
	}
}

// toolHooksPart describes [[tools.hooks]].
func toolHooksPart() Part {
	return Part{
		Path: toolHooks, Several: true,
		Doc: "Your own commands around tool calls, one per table, in the order of the file. Each reads the call as one JSON object on its " +
			"standard input (`tool`, `arguments`, `summary`, `trust`, `tainted`; after the call also `result`), runs in the workspace with hob's environment without " +
			"all secrets, and may take 30 seconds. Every key is required. A mistake in any of the tables denies every tool, and each call says so.",
		Keys: schema.Describe(ToolHook{}, []schema.Note{
			{Name: "tools", Unset: "a mistake", Example: `["exec", "web_*"]`, Doc: "Tool names, or patterns with `*`, `?` and `[a-z]`."},
			{
				Name: "when", Unset: "a mistake", Words: []string{"before", "after"}, Example: `"after"`,
				Doc: "`before` the call, where an exit code other than 0 refuses the call and the output is the reason; or `after` it.",
			},
			{Name: "command", Unset: "a mistake", Example: `"cat >> calls.log"`, Doc: "The shell command (`sh -c`; `cmd /C` on Windows)."},
		}),
	}
}
