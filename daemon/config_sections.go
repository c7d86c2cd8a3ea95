package daemon

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/channels"
	chanall "hob/channels/all"
	"hob/config"
	"hob/daemon/event"
	"hob/daemon/llm/all"
	"hob/daemon/llm/catalog"
	"hob/daemon/sys"
	"hob/daemon/triggers"
)

// ConfigSections describes the sections that package config keeps raw: their keys, and the checks of the packages that own them. The checks open
// nothing, connect to nothing and resolve no secret. A channel's secrets that known returns are checked by their form, the others are not;
// nil knows none.
// The command line gives the result to the loader and to the generated reference of the config.
func ConfigSections(known func(ref string) (secret string, ok bool)) config.Owned {
	if known == nil {
		known = func(string) (string, bool) { return "", false }
	}
	own := config.Owned{Backends: catalog.Backends(all.All()), Model: func(m config.Model) (missing, hint string) { return catalog.Missing(all.All(), m) }}
	for _, k := range chanall.All() {
		own.Parts = append(own.Parts, config.Part{Path: "channels.NAME", Kind: k.Name, Named: k.Named, Doc: k.Doc, Keys: k.Keys(), Check: checkChannel(known)})
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
			Keys: triggers.WebhookKeys(), Check: checkWebhook,
		},
	)
	return own
}

// SignIns returns the names of the model backends with an account that signs in.
func SignIns() []string {
	var names []string
	for _, b := range all.All() {
		if b.Account {
			names = append(names, b.Name)
		}
	}
	return names
}

// checkChannel builds the channel of a section, as the daemon does, with a stand-in for the secrets that are not known.
func checkChannel(known func(string) (string, bool)) func(*config.Snapshot, config.Section) []config.Problem {
	return func(snap *config.Snapshot, section config.Section) []config.Problem {
		// The kind of a channel is the name of its section, unless the section names another.
		kind := section.Name
		for _, c := range snap.Channels {
			if c.Name == section.Name {
				kind, section = c.Kind, c.Section
			}
		}
		// The adapter checks its section as at a start. The stand-in keeps the check from asking a keyring or a program.
		env := channels.Env{
			HTTP: &http.Client{}, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler),
			Secret: func(ref string) (string, error) {
				if secret, ok := known(ref); ok {
					return secret, nil
				}
				return channels.StandIn, nil
			},
		}
		_, err := channels.Build(chanall.All(), section.Name, kind, env, section.Decode)
		return faults(section, err)
	}
}

// checkJob makes the job of a section, as the daemon does.
func checkJob(snap *config.Snapshot, section config.Section) []config.Problem {
	j, stops, err := triggers.CheckJob(section.Decode, snap.Owner.Timezone, sys.RealClock().Wall())
	return advised(snap, section, err, j.Deliver, "gate", stops)
}

// checkWatch makes the file watch of a section, as the daemon does.
func checkWatch(snap *config.Snapshot, section config.Section) []config.Problem {
	w, waits, err := triggers.CheckWatch(section.Decode, sys.RealClock().Wall())
	for i := range waits {
		waits[i] += " is not there: nothing fires until it is"
	}
	return advised(snap, section, err, w.Deliver, "paths", waits...)
}

// advised turns the error of a check into problems. Without one there is advice on what the running hob tells at each reload: stops, which is about a
// key, and answers that go to a channel without a section.
func advised(snap *config.Snapshot, section config.Section, err error, deliver event.Address, key string, stops ...string) []config.Problem {
	list := faults(section, err)
	if len(list) > 0 {
		return list
	}
	for _, text := range stops {
		if text != "" {
			list = append(list, advice(section, key, text))
		}
	}
	name := deliver.Channel()
	if name != event.CLI.Channel() && !slices.Contains([]event.Address{event.ToOwner, event.ToNone, ""}, deliver) &&
		!slices.ContainsFunc(snap.Channels, func(c config.Channel) bool { return c.Name == name }) {
		list = append(list, advice(section, "deliver", "its answers go to "+string(deliver)+", and there is no channel "+name))
	}
	return list
}

// advice is a remark about a key.
func advice(section config.Section, key, text string) config.Problem {
	p := section.Fault(key, key+": "+text)
	p.Fatal, p.Advice = false, true
	return p
}

// checkWebhook makes the webhook of a section, as the daemon does. If the variable or the file with its secret
// does not exist here, that is only a remark: hob may run where it exists.
func checkWebhook(snap *config.Snapshot, section config.Section) []config.Problem {
	h, err := triggers.CheckWebhook(section.Name, section.Decode, sys.RealClock().Wall())
	list := advised(snap, section, err, h.Deliver, "")
	if err != nil {
		return list
	}
	for key, ref := range triggers.WebhookSecrets(section.Decode) {
		if why := absent(ref); why != "" {
			p := advice(section, key, why)
			p.Hint = "without it the webhook is off where hob runs"
			list = append(list, p)
		}
	}
	return list
}

// absent returns the reason why the target of a secret reference does not exist here; "" if it exists, and for references that only the running hob can check.
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

// faults turns the error of a check into problems. Each line of the error begins with the key that it is about.
func faults(section config.Section, err error) []config.Problem {
	var list config.Errors
	switch {
	case err == nil:
		return nil
	case errors.As(err, &list):
		return list
	}
	// The key becomes the place of the problem, so that a report can point to the line of the file.
	for line := range strings.SplitSeq(err.Error(), "\n") {
		line = strings.TrimPrefix(line, section.Path()+": ")
		key, _, _ := strings.Cut(line, " ")
		// An error about a zone begins with the words of scheduler.Zone, not with its key.
		if strings.HasPrefix(line, "time zone ") {
			key = "tz"
		}
		list = append(list, section.Fault(strings.TrimSuffix(key, ":"), line))
	}
	return list
}
