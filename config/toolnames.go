package config

import (
	"cmp"
	"fmt"
	"slices"

	"hob/daemon/sys"
)

// ToolNames lists all tools of hob, including those that are not available on this machine. A test of hob/tools/all keeps the list
// complete.
func ToolNames() []string {
	return []string{
		"agents_list", "anthropic_usage", "apply_patch", "ask", "calendar_create_event", "calendar_get_event", "calendar_list_events", "capabilities_refresh", "complete_task", "context_delete", "context_read", "context_refresh", "context_search", "context_tree", "context_write", "cron", "edit", "exec", "fail_task", "glob", "gmail_read", "gmail_search", "gmail_send", "grep", "http", "linkedin_job_detail", "linkedin_jobs", "ls", "mcp_resource_read", "mcp_resources", "memory_forget", "memory_get", "memory_search", "memory_write", "message",
		"notebook_edit", "plan", "process", "read", "result_read", "sessions_history", "sessions_list", "sessions_send", "sessions_spawn", "sessions_status", "skill", "subagents",
		"task_add", "task_list", "task_update", "tmux", "todo", "tool", "wait_task", "watch", "web_fetch", "web_search", "write",
	}
}

// ofServer matches a tool of an MCP server, or a pattern for several: "git__list_issues", "git__*".
var ofServer = sys.Regexp(`^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*__[A-Za-z0-9_*-]+$`)

// checkToolNames requires names of existing tools: a misspelt name would deny nothing.
func checkToolNames(c *checks, key string, list []string) {
	known := ToolNames()
	for i, name := range list {
		near := nearest(name, known)
		if name == DenyAll || slices.Contains(known, name) || near == "" && ofServer().MatchString(name) {
			continue
		}
		at := c.at(key).element(i)
		c.add(at, at.value, dotted(c.section, key), fmt.Sprintf("%s: there is no tool %q", key, name), cmp.Or(near, "hob tool list --all shows all of them"), true)
	}
}
