package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// skillsCommand makes hob skills. The daemon reads and copies the folders; only the owner, here or by an answer to hob's question, accepts
// one.
func skillsCommand(a *cli.App) *cobra.Command {
	return cli.Family("skills", "Teach hob certain work, with folders of instructions",
		skillsListCommand(a),
		cli.Show(a, api.ShowSkill, "SKILL", "Show the text and files of a skill, and whether it is in use", nil),
		skillsCheckCommand(a),
		skillsTrustCommand(a),
		skillsAddCommand(a),
		skillsRemoveCommand(a),
	)
}

// skillsListCommand makes hob skills list.
func skillsListCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[api.Skill]{
		Route: api.Skills, Whole: true, Short: "List the skills, with those that you have not accepted", None: "there are no skills yet; add one with: hob skills add PATH",
		Head: []string{"SKILL", "STATE", "SCRIPTS", "HASH", "WHAT IT IS FOR"},
		Row: func(s api.Skill, _ cli.Clock) []string {
			what := s.Description
			if s.Problem != "" {
				what = s.Problem
			}
			return []string{s.Name, s.State, strconv.Itoa(s.Scripts), console.OrDash(s.Hash[:min(12, len(s.Hash))]), console.OneLine(console.ToYou(what))}
		},
	})
}

// skillsCheckCommand makes hob skills check. Its exit code is not 0 if something is wrong.
func skillsCheckCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "check [SKILL|PATH]", Short: "Check that a folder can be a skill; without a name, all of them", ValidArgsFunction: cli.Complete(a, api.Skills),
		Long:    "Check the SKILL.md and the files of a skill, or of a folder that is not in the workspace yet. Nothing is changed.",
		Args:    cli.AtMost(1, "a SKILL or a PATH"),
		Example: "  hob skills check\n  hob skills check tidy-downloads\n  hob skills check ./my-skill",
		RunE: func(cmd *cobra.Command, args []string) error {
			var list []api.Skill
			var err error
			if len(args) == 0 {
				list, err = client.List(cmd.Context(), a, api.Skills, client.Filter{})
			} else {
				from := args[0]
				if strings.ContainsAny(from, `/\.~`) {
					if from, err = filepath.Abs(from); err != nil {
						return err
					}
				}
				var one api.Skill
				one, err = client.Do(cmd.Context(), a, api.CheckSkill, "", api.SkillSource{From: from})
				list = []api.Skill{one}
			}
			if err != nil {
				return err
			}
			return checkedSkills(a, list)
		},
	}
}

// checkedSkills prints what is wrong with skills.
func checkedSkills(a *cli.App, list []api.Skill) error {
	bad := 0
	var lines []string
	for _, s := range list {
		if s.Problem == "" {
			lines = append(lines, fmt.Sprintf("%s: good, %s", s.Name, console.Plural(len(s.Files)+1, "file")))
			if len(s.Unknown) > 0 {
				lines = append(lines, s.Name+": warning: "+unknownTools(s))
			}
			continue
		}
		bad++
		for line := range strings.SplitSeq(s.Problem, "\n") {
			lines = append(lines, s.Name+": "+console.ToYou(line))
		}
	}
	if len(list) == 0 {
		lines = append(lines, "there are no skills yet; add one with: hob skills add PATH")
	}
	var err error
	if a.JSON {
		err = a.Document(list)
	} else {
		err = a.Text(strings.Join(lines, "\n") + "\n")
	}
	if err == nil && bad > 0 {
		return &cli.Problem{Text: console.Plural(bad, "skill") + " cannot be used", Hint: "docs/skills.md has the form of a skill"}
	}
	return err
}

// unknownTools says what becomes of the names in allowed-tools that hob does not have.
func unknownTools(s api.Skill) string {
	text := "allowed-tools names what is no tool of hob, and so allows nothing: "
	if len(s.Unknown) == len(s.Tools) {
		text = "the skill can call no tool, because allowed-tools names no tool of hob: "
	}
	return text + console.ToYou(strings.Join(s.Unknown, ", ")) + "; see: hob tool list --all"
}

// skillsTrustCommand makes hob skills trust.
func skillsTrustCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "trust SKILL [HASH]", Short: "Accept what a skill's folder holds now, and use it", ValidArgsFunction: cli.Complete(a, api.Skills),
		Long: "Accept what a skill's folder holds now. hob keeps a copy and uses only that: a later change of the folder counts when you accept it again.\n" +
			"With HASH, of which the 12 digits of the list are enough, the folder must still hold what the list showed.",
		Args:    cobra.MatchAll(cli.AtLeast(1, "a SKILL"), cli.AtMost(2, "a SKILL and a HASH")),
		Example: "  hob skills trust tidy-downloads\n  hob skills trust tidy-downloads 3f2a91c07b44",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := api.SkillHash{}
			if len(args) > 1 {
				in.Hash = args[1]
			}
			s, err := client.Do(cmd.Context(), a, api.TrustSkill, args[0], in)
			if err != nil {
				return err
			}
			return a.Done(s, fmt.Sprintf("%s is in use (%s, %s, hash %s); run it with: /%s", s.Name, toolsOf(s), console.Plural(s.Scripts, "script"), s.InUse[:min(12, len(s.InUse))], s.Name))
		},
	}
}

// toolsOf says which tools a skill leaves.
func toolsOf(s api.Skill) string {
	if len(s.Tools) == 0 {
		return "every tool that you allow"
	}
	return console.ToYou(strings.Join(s.Tools, ", "))
}

// skillsAddCommand makes hob skills add.
func skillsAddCommand(a *cli.App) *cobra.Command {
	var below string
	cmd := &cobra.Command{
		Use: "add PATH-OR-GIT-URL", Short: "Copy a skill into the workspace, from a folder or a git repository", Args: cli.Exactly(1, "a folder, or the https address of a git repository"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		Long: "Copy a skill into the workspace. It counts only after you have accepted it: hob asks you, or use hob skills trust.\n" +
			"Repositories are fetched over https, in the sandbox, without hooks and submodules.",
		Example: "  hob skills add ./tidy-downloads\n  hob skills add https://github.com/anthropics/skills --path skills/pdf",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := api.SkillSource{From: args[0], Path: below}
			if !strings.Contains(in.From, "://") && !strings.HasPrefix(in.From, "git@") {
				var err error
				if in.From, err = filepath.Abs(in.From); err != nil {
					return err
				}
			}
			s, err := client.Do(cmd.Context(), a, api.AddSkill, "", in)
			if err != nil {
				return err
			}
			short := s.Hash[:min(12, len(s.Hash))]
			return a.Done(s, fmt.Sprintf("added %s: %s\n%s, %s; look into its folder, then accept it with: hob skills trust %s %s", s.Name, console.ToYou(s.Description),
				toolsOf(s), console.Plural(s.Scripts, "script"), s.Name, short))
		},
	}
	cmd.Flags().StringVar(&below, "path", "", "the `folder` of the skill inside the repository")
	cli.CompleteFlag(cmd, "path", cobra.NoFileCompletions)
	return cmd
}

// skillsRemoveCommand makes hob skills rm.
func skillsRemoveCommand(a *cli.App) *cobra.Command {
	return cli.Remove(a, cli.Removal[api.Skill]{
		Use: "rm SKILL", Short: "Delete a skill's folder, and end its use", Example: "  hob skills rm tidy-downloads\n  hob skills rm --yes tidy-downloads", Args: cli.Exactly(1, "one SKILL"), Row: api.ShowSkill,
		Loss: func(s api.Skill) string {
			return fmt.Sprintf("this deletes the folder of the skill %s with %s", s.Name, console.Plural(len(s.Files)+1, "file"))
		},
		Remove: func(ctx context.Context, s api.Skill) error {
			return cli.Do(ctx, a, api.RemoveSkill, s.Name, api.None{}, "skill "+s.Name+" is deleted")
		},
	})
}
