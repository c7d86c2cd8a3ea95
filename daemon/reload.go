package daemon

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"hob/channels"
	"hob/channels/admin"
	chanall "hob/channels/all"
	"hob/config"
	"hob/daemon/account"
	"hob/daemon/llm/catalog"
	"hob/daemon/mcp"
	"hob/daemon/store"
	"hob/daemon/sys"
	"hob/daemon/toolset"
	"hob/daemon/triggers"
)

// openConfig reads the config at the start. A file that is not valid TOML does not stop hob: it starts with the last good file, or with its defaults,
// and reports that.
func openConfig(o Options, log *slog.Logger) *config.Reloader {
	file, err := config.Open(o.config(), filepath.Join(o.state(), "config.good.toml"), os.Environ())
	_, unused := file.Problems()
	switch {
	case unused != nil && file.FromCopy():
		log.Error("the config cannot be read: hob runs on the last good one", "err", err)
	case unused != nil:
		log.Error("the config cannot be read, and there is no good one from before: hob runs on its defaults", "err", err)
	case err != nil:
		log.Warn("the config was read, and what an earlier start has left beside its copy cannot be removed", "err", err)
	}
	return file
}

// reloader applies the config to the daemon, at the start and after each change of the file.
type reloader struct {
	file     *config.Reloader
	folders  *sys.Folders
	tools    *toolset.Deps
	live     *toolset.Active
	mcp      *mcp.Service
	accounts *account.Service
	models   *catalog.Models
	prompts  store.Turns
	sections channelSections
	host     *channels.Host
	health   admin.HealthReporter
	jobs     triggers.Jobs
	watches  triggers.Watches
	webhooks *triggers.Webhooks
	problems *configProblems
	notices  notices
	log      *slog.Logger
}

// run watches the file. A change applies from the next step on, without a restart.
func (r reloader) run(ctx context.Context) error {
	wake, stop := r.file.Changes()
	defer stop()
	g := sys.NewGroup(r.log, nil)
	// The reloader notices changes of the file and keeps the last valid config; wake says that it has a new one.
	g.Go(ctx, "config file", func(ctx context.Context) error { return r.file.Run(ctx, r.folders, r.log) })
	defer g.Wait()
	// The ready line does not wait for the notices about the config of the start.
	r.failed(ctx, "the notices of mistakes in the config", r.notices.tellProblems(ctx))
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
			r.failed(ctx, "the config", r.reload(ctx))
		case <-r.mcp.Changed():
			r.failed(ctx, "the tools of MCP servers", r.servers(ctx))
		case <-r.accounts.Changed():
			r.failed(ctx, "the tools of accounts", r.servers(ctx))
		}
		// Each of these makes a new sandbox.
		g.Once("sandbox", func() error { return probeSandbox(r.live) })
	}
}

// failed logs the error of a change. What fails because hob is stopping is no error.
func (r reloader) failed(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		r.log.Error("a change could not be taken into use", "what", what, "err", err)
	}
}

// servers makes the tools anew after the owner has decided about an MCP server. Requests to the model contain the same tools as before, unless
// the config puts those of servers there.
func (r reloader) servers(ctx context.Context) error {
	c := r.file.Current()
	if err := renewTools(ctx, c, r.tools, r.live, r.mcp); err != nil || !c.MCP.Flat {
		return err
	}
	return r.prompts.ForgetPrompts(ctx)
}

// reload applies the config to models, tools, channels and triggers, and reports each mistake in it to the owner once.
func (r reloader) reload(ctx context.Context) error {
	r.sections.network.learn(ctx)
	if err := renew(ctx, r.file.Current(), r.tools, r.live, r.models, r.mcp); err != nil {
		return err
	}
	// A stored prompt may name tools or folders that the new config no longer has, so each session builds its prompt again.
	if err := r.prompts.ForgetPrompts(ctx); err != nil {
		return err
	}
	if err := r.follow(ctx); err != nil {
		return err
	}
	return r.notices.tellProblems(ctx)
}

// probeSandbox probes the sandbox beside everything else, so that the first command need not wait for it.
func probeSandbox(live *toolset.Active) error {
	live.Set().Sandbox.State()
	return nil
}

// renew puts the tools and the models of a config into use. The tools change last, so an error keeps the old ones.
func renew(ctx context.Context, c *config.Snapshot, tools *toolset.Deps, live *toolset.Active, models *catalog.Models, servers *mcp.Service) error {
	if err := models.Renew(ctx); err != nil {
		return err
	}
	return renewTools(ctx, c, tools, live, servers)
}

// renewTools puts the tools of a config into use, with those of its MCP servers. An error keeps the old ones.
func renewTools(ctx context.Context, c *config.Snapshot, tools *toolset.Deps, live *toolset.Active, servers *mcp.Service) error {
	if err := servers.Apply(ctx, c); err != nil {
		return err
	}
	set, err := tools.Build(ctx, c)
	if err != nil {
		return err
	}
	live.Replace(set, c)
	return nil
}

// follow applies the config to channels and triggers, and notes which of them cannot be used.
func (r reloader) follow(ctx context.Context) error {
	c := r.file.Current()
	// A channel whose section is unchanged keeps its connection: the host compares fingerprints.
	sections, off := r.sections.build(ctx, c)
	r.host.Replace(sections)
	// Notices about channels without a section are dropped.
	if err := r.health.Only(ctx, slices.Collect(maps.Keys(sections))); err != nil {
		return err
	}
	// One kind of trigger that fails must not keep the others from the new config, so the errors are returned at the end.
	jobs, err := r.jobs.Sync(ctx, wanted(c.Jobs, &off), triggers.Heartbeat(c.Heartbeat))
	hooks, hooksErr := r.webhooks.Sync(ctx, wanted(c.Hooks, &off))
	watches, watchesErr := r.watches.Sync(ctx, wanted(c.Watches, &off))
	advice, adviceErr := triggers.Advice(ctx, r.jobs, r.watches, r.webhooks)
	// The list is kept for hob status and the notice below, also when one kind of trigger could not be synced.
	off = slices.Concat(off, jobs, hooks, watches, advice)
	r.problems.off.Store(&off)
	return errors.Join(err, hooksErr, watchesErr, adviceErr)
}

// wanted lists the triggers that sections of the config ask for. Unknown keys in them go to off.
// The sections stay raw until package triggers decodes them.
func wanted(sections []config.Section, off *[]string) (list []triggers.Wanted) {
	for _, s := range sections {
		list = append(list, triggers.Wanted{Name: s.Name, Decode: lenient(s, off)})
	}
	return list
}

// lenient decodes a section of a running daemon: unknown keys are noted and do not switch it off.
func lenient(section config.Section, off *[]string) func(any) error {
	return func(dst any) error {
		unknown, err := section.Fill(dst)
		for _, p := range unknown {
			*off = append(*off, p.String())
		}
		return err
	}
}

// channelSections makes the channels of a config.
type channelSections struct {
	network    *network
	recipients channels.Recipients
	pairings   store.Pairings
	clock      sys.Clock
	log        *slog.Logger
}

// build makes the channels. A channel that cannot be made is kept with its error, so that it is shown; the others work. off lists mistakes in sections.
func (s channelSections) build(ctx context.Context, c *config.Snapshot) (list map[string]channels.Section, off []string) {
	list = map[string]channels.Section{}
	for _, one := range c.Channels {
		list[one.Name] = s.section(ctx, c, one, &off)
	}
	return list, off
}

// section makes one channel.
func (s channelSections) section(ctx context.Context, c *config.Snapshot, one config.Channel, off *[]string) channels.Section {
	env := channels.Env{
		HTTP: s.network.direct, Clock: s.clock, Log: s.log, Owner: s.recipients.Owner,
		Secret:      func(ref string) (string, error) { return s.network.resolve(ctx, "channels."+one.Name, ref) },
		PairingOpen: func(ctx context.Context) (bool, error) { return s.pairings.IsOpen(ctx, s.clock.Wall(), one.Name) },
	}
	// The proxy comes first: Build gets an environment that can be used at once.
	var ch channels.Channel
	err := s.network.channel(ctx, one, &env)
	if err == nil {
		ch, err = channels.Build(chanall.All(), one.Name, one.Kind, env, lenient(one.Section, off))
	}
	if err != nil {
		*off = append(*off, err.Error())
	}
	return channels.Section{Kind: one.Kind, Fingerprint: fingerprint(one, c.Network), Channel: ch, Err: err}
}

// fingerprint changes when a section's content or its proxy does.
func fingerprint(c config.Channel, net config.Network) string {
	var content map[string]any
	if err := c.Decode(&content); err != nil {
		return err.Error()
	}
	// The default proxy is part of the fingerprint, because a channel without one of its own uses it.
	// fmt prints maps with sorted keys, so equal sections give equal text.
	sum := sha256.Sum256([]byte(fmt.Sprint(content, cmp.Or(c.Proxy, net.Proxy))))
	return hex.EncodeToString(sum[:8])
}
