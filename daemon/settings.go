package daemon

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"hob/channels"
	chanall "hob/channels/all"
	"hob/config"
	"hob/daemon/llm/all"
	"hob/daemon/llm/catalog"
	"hob/daemon/sys"
	"hob/daemon/triggers"
)

// ConfigSections describes the sections of the config that config keeps raw: their keys, and what their owners would say of them. Nothing
// is opened and nobody is asked: a secret is not looked up.
func ConfigSections() config.Owned {
	own := config.Owned{Backends: catalog.Backends(all.All()), Model: func(m config.Model) (missing, hint string) { return catalog.Missing(all.All(), m) }}
	for _, k := range chanall.All() {
		own.Parts = append(own.Parts, config.Part{Path: "channels.NAME", Kind: k.Name, Named: k.Named, Doc: k.Doc, Keys: k.Keys(), Check: checkChannel})
	}
	own.Parts = append(own.Parts,
		config.Part{
			Path: "jobs.NAME", Named: "morning", Doc: "A chore by schedule, as `hob cron add` makes it: exactly one of `when`, `cron`, `every` and `at`.",
			Keys: triggers.JobKeys(), Check: checkJob,
		},
		config.Part{
			Path: "watches.NAME", Named: "papers", Doc: "A chore when files change, as `hob watch add` makes it. See watches.md.",
			Keys: triggers.WatchKeys(), Check: checkWatch,
		},
		config.Part{
			Path: "hooks.NAME", Named: "deploys", Doc: "An address that others post to, as `hob hook add` makes it. See webhooks.md.",
			Keys: triggers.WebhookKeys(), Check: checkHook,
		},
	)
	return own
}

// checkChannel builds the channel of a section, as the daemon does, with a stand-in for its secrets.
func checkChannel(snap *config.Snapshot, section config.Section) []config.Problem {
	kind := section.Name
	for _, c := range snap.Channels {
		if c.Name == section.Name {
			kind, section = c.Kind, c.Section
		}
	}
	env := channels.Env{
		HTTP: &http.Client{}, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler),
		Secret: func(string) (string, error) { return "stand-in", nil },
	}
	_, err := channels.Build(chanall.All(), section.Name, kind, env, section.Decode)
	return faults(section, err)
}

// checkJob makes the job of a section, as the daemon does.
func checkJob(snap *config.Snapshot, section config.Section) []config.Problem {
	return faults(section, triggers.CheckJob(section.Decode, snap.Owner.Timezone, sys.RealClock().Wall()))
}

// checkWatch makes the file watch of a section, as the daemon does.
func checkWatch(_ *config.Snapshot, section config.Section) []config.Problem {
	return faults(section, triggers.CheckWatch(section.Decode, sys.RealClock().Wall()))
}

// checkHook makes the webhook of a section, as the daemon does. A variable or file that is not here, and would hold its secret, is worth a
// remark and no more: hob may run where it is.
func checkHook(_ *config.Snapshot, section config.Section) []config.Problem {
	if list := faults(section, triggers.CheckWebhook(section.Name, section.Decode, sys.RealClock().Wall())); len(list) > 0 {
		return list
	}
	var list []config.Problem
	for key, ref := range triggers.WebhookSecrets(section.Decode) {
		if why := absent(ref); why != "" {
			p := section.Fault(key, key+": "+why)
			p.Fatal, p.Advice, p.Hint = false, true, "without it the webhook is off where hob runs"
			list = append(list, p)
		}
	}
	return list
}

// absent says that what a reference names is not here; "" when it is, and of what would have to be asked.
func absent(ref string) string {
	scheme, rest, _ := strings.Cut(ref, ":")
	switch rest = strings.TrimSpace(rest); scheme {
	case "env":
		if _, ok := os.LookupEnv(rest); !ok {
			return "the variable " + rest + " is not set here"
		}
	case "file":
		if _, err := os.Stat(rest); filepath.IsAbs(rest) && errors.Is(err, fs.ErrNotExist) {
			return rest + " is not there"
		}
	}
	return ""
}

// faults are the problems behind an owner's error, each line of which begins with the key it is about.
func faults(section config.Section, err error) []config.Problem {
	var list config.Errors
	switch {
	case err == nil:
		return nil
	case errors.As(err, &list):
		return list
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		line = strings.TrimPrefix(line, section.Path()+": ")
		key, _, _ := strings.Cut(line, " ")
		if strings.HasPrefix(line, "time zone ") {
			key = "tz"
		}
		list = append(list, section.Fault(strings.TrimSuffix(key, ":"), line))
	}
	return list
}
