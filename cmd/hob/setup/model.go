package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// source is where a model could come from. Its answer is what the step writes.
type source struct {
	text          string
	backend, base string
	models        []api.ModelEntry // that the server has; nil: not asked yet
	key           string           // the key itself, from the environment
	keyRef        string           // the key of a server that is set up
	needsKey      bool
	anyServer     bool // any server: the owner gives its address, and perhaps a key
}

// modelAnswer is what is known of the model that the owner wants.
type modelAnswer struct {
	backend, name, base string
	key                 string // the key itself, to be kept in a file
	keyRef              string // or a reference
}

// model connects a model. With the first one the prompts of jobs go to another reader, which is said.
func (w *wizard) model(ctx context.Context) error {
	had := w.value("model.model") != ""
	if err := w.chooseModel(ctx); err != nil || had || w.value("model.model") == "" {
		return err
	}
	return w.sayAsked(ctx)
}

// chooseModel asks for a model, writes it and tries it out.
func (w *wizard) chooseModel(ctx context.Context) error {
	if w.flags["model"] {
		return w.flaggedModel(ctx)
	}
	if w.given.yes {
		return nil
	}
	for {
		m, ok, err := w.askModel(ctx)
		if err != nil || !ok {
			return err
		}
		kept, err := w.useModel(ctx, m)
		var mistake *cli.Problem
		switch {
		case errors.As(err, &mistake) && mistake.Code == cli.ExitUsage && w.ask.terminal():
			w.say(mistake.Text)
		case err != nil || kept:
			return err
		}
	}
}

// flaggedModel uses the model of the flags.
func (w *wizard) flaggedModel(ctx context.Context) error {
	m := modelAnswer{base: withScheme(w.given.baseURL)}
	if w.given.model == "none" {
		_, _, err := w.change(noModel())
		return err
	}
	var ok bool
	if m.backend, m.name, ok = strings.Cut(w.given.model, "/"); !ok || m.name == "" {
		return cli.Usage("for example --model ollama/qwen3:8b", "--model %q is not BACKEND/NAME", w.given.model)
	}
	var err error
	if m.keyRef, m.key, err = w.readKey(w.given.key); err != nil {
		return err
	}
	// Another model of the same backend is at the same server, with the same key.
	if w.value("model.backend") == m.backend {
		if !w.flags["base-url"] {
			m.base = w.value("model.base_url")
		}
		if !w.flags["api-key"] {
			m.keyRef = w.value("model.api_key")
		}
	}
	_, err = w.useModel(ctx, m)
	return err
}

// noModel returns the values with which only the built-in interpreter answers.
func noModel() map[string]string {
	return map[string]string{"model.backend": "builtin", "model.model": "", "model.base_url": "", "model.api_key": ""}
}

// askModel asks where the model comes from and which one it is; ok is false if the step is skipped.
func (w *wizard) askModel(ctx context.Context) (m modelAnswer, ok bool, err error) {
	w.say("Looking for models …")
	sources := w.sources(ctx)
	var names []string
	for _, s := range sources {
		names = append(names, s.text)
	}
	ends, otherwise := []string{"skip: plain commands work without a model"}, 0
	if has := w.value("model.model"); has != "" {
		ends, otherwise = []string{"keep " + w.value("model.backend") + "/" + has, "none: plain commands work without a model"}, len(names)
	}
	if len(sources) > 0 && sources[0].needsKey && sources[0].key == "" {
		otherwise = len(names) // nothing was found, so nothing is proposed
	}
	i, err := w.ask.choose(ctx, "Which model shall think for hob", append(names, ends...), otherwise)
	switch {
	case err != nil:
		return m, false, err
	case i == len(sources):
		if w.value("model.model") == "" {
			w.say("Later: hob setup")
		}
		return m, false, nil
	case i > len(sources):
		_, _, err := w.change(noModel())
		return m, false, err
	}
	m, err = w.fill(ctx, sources[i])
	return m, err == nil && m.name != "", err
}

// completeModel offers the models of the servers on this machine, if hob runs.
func (w *wizard) completeModel(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := []string{"none"}
	servers, err := client.Show(cmd.Context(), w.app, api.ShowModelServers, "")
	for _, s := range servers {
		for _, m := range usable(s.Models) {
			names = append(names, s.Backend+"/"+m.ID)
		}
	}
	if err != nil {
		names = names[:1] // completion offers less
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// sources are the servers that were found on this machine, the providers whose keys are in the environment, the others, and any server.
func (w *wizard) sources(ctx context.Context) []source {
	var found, keyed, others []source
	// Without the list the wizard offers less.
	servers, err := client.Show(ctx, w.host.client, api.ShowModelServers, "")
	if err != nil {
		w.app.Note(err.Error())
	}
	for _, s := range servers {
		own := slices.Contains(s.Names, "default")
		if len(s.Names) > 0 && !own || s.Error != "" || len(s.Models) == 0 {
			continue
		}
		models := usable(s.Models)
		bestFirst(models, daemon.Memory())
		if own {
			found = append(found, source{
				text: fmt.Sprintf("another model of %s at %s", serverName(s.Backend), s.BaseURL), backend: s.Backend, base: w.value("model.base_url"), models: models,
				keyRef: w.value("model.api_key"),
			})
			continue
		}
		found = append(found, source{text: fmt.Sprintf("%s at %s, on this machine: %s", serverName(s.Backend), s.BaseURL, console.Plural(int64(len(models)), "model")), backend: s.Backend, base: s.BaseURL, models: models})
	}
	for _, p := range daemon.ModelServices() {
		if p.Title == "" {
			others = append(others, source{text: "another server that speaks OpenAI's protocol", backend: p.Backend, needsKey: true, anyServer: true})
			continue
		}
		if key := strings.TrimSpace(os.Getenv(p.KeyName)); key != "" {
			keyed = append(keyed, source{text: p.Title + ", with the key in $" + p.KeyName, backend: p.Backend, key: key, needsKey: true})
			continue
		}
		others = append(others, source{text: p.Title + ", with a key", backend: p.Backend, needsKey: true})
	}
	return slices.Concat(found, keyed, others)
}

// fill asks for what a source lacks: address, key and model.
func (w *wizard) fill(ctx context.Context, s source) (m modelAnswer, err error) {
	m = modelAnswer{backend: s.backend, base: s.base, key: s.key, keyRef: s.keyRef}
	if s.anyServer {
		if err := w.askAddress(ctx, &m); err != nil || m.base == "" {
			return m, err
		}
	}
	if s.needsKey && s.key == "" {
		if err := w.askKey(ctx, s, &m); err != nil || m.key == "" && !s.anyServer {
			return m, err
		}
	}
	models := s.models
	// With a proxy in the config, only the daemon knows how to reach the server.
	if models == nil && w.value("network.proxy") == "" {
		if models, err = w.modelsOf(ctx, s, &m); err != nil {
			return m, err
		}
	}
	m.name, err = w.whichModel(ctx, models)
	return m, err
}

// askAddress asks for the address of a server. Enter keeps the one that was given before, or skips the step.
func (w *wizard) askAddress(ctx context.Context, m *modelAnswer) error {
	prompt := "The address of the server, like https://host/v1: "
	if m.base != "" {
		prompt = "The address of the server (Enter goes on with " + m.base + "): "
	}
	for {
		text, err := w.ask.ask(ctx, prompt)
		if err != nil || text == "" {
			return err
		}
		u, err := url.Parse(withScheme(text))
		if err == nil && u.Hostname() != "" && (u.Scheme == "http" || u.Scheme == "https") && !strings.ContainsAny(text, " \t") {
			m.base = withScheme(text)
			return nil
		}
		w.say(fmt.Sprintf("%q is not an address.", text))
	}
}

// withScheme adds http:// to an address that has no scheme. One with only a name is an address on the internet, which takes https://.
func withScheme(address string) string {
	host, _, _ := strings.Cut(address, "/")
	name, _, port := strings.Cut(host, ":")
	switch {
	case address == "" || strings.Contains(address, "://"):
		return address
	case port || name == "localhost" || net.ParseIP(name) != nil || !strings.Contains(name, "."):
		return "http://" + address
	}
	return "https://" + address
}

// askKey asks for the key of a service or a server.
func (w *wizard) askKey(ctx context.Context, s source, m *modelAnswer) (err error) {
	prompt := "The key (paste it; it is not shown): "
	if s.anyServer {
		prompt = "The key (paste it; it is not shown; Enter if the server needs none): "
	}
	m.key, err = w.ask.secret(ctx, prompt)
	return err
}

// modelsOf asks a server for its models. At a terminal, what it refused is asked again: the key, or the address. Enter goes on without a list.
func (w *wizard) modelsOf(ctx context.Context, s source, m *modelAnswer) ([]api.ModelEntry, error) {
	for {
		models, err := daemon.ModelList(ctx, m.backend, m.base, m.key)
		if u, wrong := url.Parse(m.base); err != nil && !daemon.KeyRefused(err) && s.anyServer && wrong == nil && strings.Trim(u.Path, "/") == "" {
			longer := strings.TrimRight(m.base, "/") + "/v1"
			list, longerErr := daemon.ModelList(ctx, m.backend, longer, m.key)
			if longerErr == nil || daemon.KeyRefused(longerErr) {
				w.say("The address is " + longer + ".")
				m.base, models, err = longer, list, longerErr
			}
		}
		if err == nil || ctx.Err() != nil {
			return usable(models), ctx.Err()
		}
		_, text, hint := cli.Explain(err)
		w.say(strings.TrimSuffix(text+"; "+hint, "; "))
		if !w.ask.terminal() {
			return nil, nil
		}
		before := *m
		switch {
		case daemon.KeyRefused(err):
			err = w.askKey(ctx, s, m)
		case s.anyServer:
			err = w.askAddress(ctx, m)
		}
		if err != nil || *m == before || m.key == "" && before.key != "" {
			m.key = before.key
			return nil, err
		}
	}
}

// usable are the models without those of which the server says that they cannot call tools.
func usable(models []api.ModelEntry) []api.ModelEntry {
	return slices.DeleteFunc(slices.Clone(models), func(m api.ModelEntry) bool { return m.Tools != nil && !*m.Tools })
}

// bestFirst sorts the models of a server on this machine: those in memory first, then the largest that fit into it.
func bestFirst(models []api.ModelEntry, memory int64) {
	worth := func(m api.ModelEntry) int64 {
		switch {
		case m.Loaded != nil && *m.Loaded:
			return math.MaxInt64
		case m.Bytes > memory/4*3: // the system and the conversation need the rest
			return -m.Bytes
		}
		return m.Bytes
	}
	slices.SortStableFunc(models, func(a, b api.ModelEntry) int { return cmp.Compare(worth(b), worth(a)) })
}

// maxOffered is the most models that are listed for a choice.
const maxOffered = 12

// whichModel asks which model of a server it shall be. One that is alone is taken.
func (w *wizard) whichModel(ctx context.Context, models []api.ModelEntry) (string, error) {
	if len(models) == 1 {
		w.say("The model is " + models[0].ID + ".")
		return models[0].ID, nil
	}
	var shown []string
	for i, m := range models[:min(len(models), maxOffered)] {
		shown = append(shown, m.ID)
		line := fmt.Sprintf("  %2d  %s", i+1, console.OneLine(m.ID))
		if m.Bytes > 0 {
			line += ", " + console.Size(m.Bytes)
		}
		w.say(line)
	}
	prompt := "Which model (its name): "
	switch {
	case len(models) > len(shown):
		prompt = fmt.Sprintf("Which model (a number, or a name; the server has %d) [1]: ", len(models))
	case len(models) > 0:
		prompt = "Which model (a number, or a name) [1]: "
	}
	for {
		text, err := w.ask.ask(ctx, prompt)
		if err != nil {
			return "", err
		}
		if text == "" && len(models) > 0 {
			return shown[0], nil
		}
		if i := pick(shown, text); i >= 0 {
			return shown[i], nil
		}
		// Lists may be incomplete, so that a name which is not on one is tried all the same.
		if text != "" && strings.Trim(text, "0123456789") != "" || len(models) == 0 {
			return text, nil
		}
	}
}

// useModel writes a model and tries it out; kept is false if the owner wants to choose again, and then nothing is changed.
func (w *wizard) useModel(ctx context.Context, m modelAnswer) (kept bool, err error) {
	undoKey := func() error { return nil }
	if m.key != "" {
		path, fresh, err := KeepSecret(w.home, "model-"+m.backend, m.key)
		if err != nil {
			return false, err
		}
		m.keyRef = "file:" + path
		if fresh {
			undoKey = func() error { return os.Remove(filepath.Join(w.home, path)) }
			w.app.Note("the key is in " + filepath.Join(w.home, path))
		}
	}
	undo, changed, err := w.change(map[string]string{"model.backend": m.backend, "model.model": m.name, "model.base_url": m.base, "model.api_key": m.keyRef})
	if err != nil {
		return false, errors.Join(flagMistake(err), undoKey())
	}
	if err := w.chosenByConfig(ctx, m); err != nil || w.given.noTest {
		return true, err
	}
	able, text, err := w.tryModel(ctx, m)
	if err != nil {
		return false, err
	}
	if able || !changed {
		w.app.Say("%s", text)
		return true, nil
	}
	if w.given.yes {
		return true, &cli.Problem{Code: cli.ExitFailed, Text: text, Hint: "it is in config.toml all the same; choose another one with: hob setup"}
	}
	w.say(text)
	if kept, err = w.ask.yes(ctx, "Keep it all the same?", false); err != nil || kept {
		return kept, err
	}
	if err := errors.Join(undo(), undoKey()); err != nil {
		return false, err
	}
	// The list of servers that comes next depends on the config.
	Loaded(ctx, func(ctx context.Context) *api.Roster {
		r, err := client.Show(ctx, w.host.client, api.ShowRoster, "")
		if err != nil || slices.ContainsFunc(r.Models, m.is) {
			return nil
		}
		return &r
	})
	return false, ctx.Err()
}

// is reports whether a row of the roster is the model of the answer.
func (m modelAnswer) is(row api.Model) bool {
	return row.Name == "default" && row.Backend == m.backend && row.Model == m.name
}

// chosenByConfig waits until the daemon has loaded the model, and gives the config the say if hob model use had it.
func (w *wizard) chosenByConfig(ctx context.Context, m modelAnswer) error {
	r := Loaded(ctx, func(ctx context.Context) *api.Roster {
		r, err := client.Show(ctx, w.host.client, api.ShowRoster, "")
		if err == nil && slices.ContainsFunc(r.Models, m.is) {
			return &r
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r == nil:
		return &cli.Problem{Code: cli.ExitFailed, Text: "the running hob has not loaded the model", Hint: "see why with: hob logs"}
	case r.Chosen == "":
		return nil
	}
	_, err := client.Do(ctx, w.host.client, api.UseModel, "default", api.None{})
	return err
}

// tryModel makes a real trial of the model.
func (w *wizard) tryModel(ctx context.Context, m modelAnswer) (able bool, text string, err error) {
	t, err := TryModel(ctx, w.app, w.host.client, "default", m.backend+"/"+m.name)
	if err != nil {
		return false, "", err
	}
	able, text = Verdict(t)
	return able, text, nil
}

// TryModel lets the daemon make a trial of a model, and shows at a terminal how long it takes.
func TryModel(ctx context.Context, a *cli.App, c *client.Client, id, name string) (t api.ModelTest, err error) {
	err = a.Waiting("trying "+name+", with up to 4 requests", func() error {
		t, err = client.Do(ctx, c, api.TestModel, id, api.None{})
		return err
	})
	return t, err
}

// serverName names a server by its backend. A service without a title is any server that speaks OpenAI's protocol, so its backend's name says nothing.
func serverName(backend string) string {
	for _, p := range daemon.ModelServices() {
		if p.Backend == backend && p.Title == "" {
			return "the server"
		}
	}
	return backend
}
