package agent

import (
	"context"
	"errors"
	"slices"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/policy"
	"hob/tools"
)

// narrowed returns the tools that remain after the skills of a turn; nil means all. A skill applies from the item that begins it to the end
// of the turn. Calls of the same answer are judged again before they run, so it applies to them too.
func narrowed(items []llm.Item) *policy.Narrowed {
	var n *policy.Narrowed
	for _, it := range items {
		for _, p := range it.Parts {
			if p.Skill != nil && p.Skill.Only != nil {
				n = n.With(p.Skill.Name, p.Skill.Only)
			}
		}
	}
	return n
}

// SkillRunner turns "/NAME ARGS" into the input of a turn. ok is false if the owner has accepted no skill with this name. An error that is
// a Fault is the answer to the owner.
type SkillRunner func(ctx context.Context, name, args string) (instructions event.Part, ok bool, err error)

// runSkill serves a command with the name of a skill. The message becomes the input of a turn, followed by the skill's instructions.
func (h *CommandHandler) runSkill(ctx context.Context, q turn.Queued, name, args string) error {
	unknown := unknownCommand(name)
	if h.Skills == nil {
		return h.reply(ctx, q, "", unknown)
	}
	part, ok, err := h.Skills(ctx, name[1:], args)
	switch {
	case err == nil && ok:
		return h.Conversations.RunSkill(ctx, q, part)
	case err == nil:
		err = unknown
	}
	if _, known := event.AsFault(err); !known {
		return errors.Join(err, ctx.Err())
	}
	return h.reply(ctx, q, "", err)
}

// unknownCommand returns the fault for a name that is neither a command nor a skill. It suggests a similar command.
func unknownCommand(name string) *event.Fault {
	meant := ""
	switch name { // commands of the conversation in a terminal
	case "/sessions":
		return event.NewFault(event.Missing, "", "/sessions is a command of hob chat in a terminal. In a shell: hob sessions list, and hob chat --session NAME.")
	case "/attach":
		return event.NewFault(event.Missing, "", "/attach is a command of hob chat in a terminal. In a shell: hob chat --attach FILE TEXT.")
	}
	offered := slices.DeleteFunc(CommandNames(), func(n string) bool { return "/"+n == name })
	if near := tools.Nearest(name[1:], offered, 1); len(near) > 0 {
		meant = " Do you mean /" + near[0] + "?"
	}
	return event.NewFault(event.Missing, "", "There is no command %s.%s /help lists them.", truncate(name, 40), meant)
}

// CommandNames lists the chat commands, without the slash. No skill may have one of these names.
func CommandNames() []string {
	return []string{
		"help", "status", "queue", "jobs", "usage", "why", "stop", "approve", "deny", "answer", "quiet", "cancel", "new", "clean", "compact", "retry", "model",
		"capabilities", "undo", "exit", "quit",
	}
}
