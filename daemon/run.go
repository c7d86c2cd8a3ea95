package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hob/channels"
	"hob/channels/cli"
	"hob/daemon/agent"
	"hob/daemon/api/server"
	"hob/daemon/artifacts"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/llm/catalog"
	"hob/daemon/netguard"
	"hob/daemon/record"
	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/sys"
	"hob/daemon/text"
	"hob/daemon/toolset"
)

// drainTime is the longest that a stop may take. Parts that have not ended by then end with the process.
const drainTime = 10 * time.Second

// keepEvents is how long events are kept.
const keepEvents = 30 * 24 * time.Hour

// Run starts everything in the order in which data flows, serves until ctx ends, and stops in reverse: first the config and the table of channels, then
// the store, then the parts (wire), which receive messages last.
// Its errors are one sentence with a hint (event.Fault), or ErrRunning.
func Run(ctx context.Context, o Options) error {
	// release is called at the ready line; the deferred call is for a start that fails.
	release := holdGarbage()
	defer release()
	d := &daemon{environment: environment{opt: o, clock: sys.RealClock(), ids: sys.RandomIDs(), http: &http.Client{Timeout: 30 * time.Second, Transport: netguard.Proxy{}.Transport()}, live: toolset.NewActive(), turn: &agent.RunningTurn{}}}
	d.log = slog.New(d.secrets.Handler(o.Log.Handler()))
	d.tellers, d.folders = sys.NewGroup(d.log, nil), sys.NewFolders(d.log)
	start := d.clock.Mono()
	d.started = d.clock.Wall()
	if d.started.Before(earliest()) {
		return event.NewFault(event.Unavailable, "set the clock, or wait for the time service, and start again", "the clock shows %s, before hob was written", text.InZone(d.started, time.Local, true))
	}
	if err := o.refuseExposed(); err != nil {
		return err
	}
	if err := errors.Join(enoughFiles(), o.prepare()); err != nil {
		return err
	}
	// A restore that was killed is finished before the config is read, which it may replace.
	if err := o.resumeWhole(); err != nil {
		return startFault(o.Home, err)
	}
	// From here on each line uses only what the lines above it have made.
	d.file = openConfig(o, d.log)
	if err := toolset.UsePath(d.config().Tools.Exec.Path); err != nil {
		return err
	}
	d.zone = newOwnerZone(d.config)
	d.recorder = &record.Recorder{Dir: filepath.Join(o.state(), "recordings"), Version: o.Version, Hide: d.secrets.Text, Now: d.clock.Wall, Log: d.log}
	d.network = &network{config: d.config, recorder: d.recorder, secrets: &d.secrets, home: o.Home, direct: d.http, log: d.log}
	d.interpreter = catalog.Interpreter{Owner: func() string { return d.config().Owner.Name }, Path: o.config(), Zone: d.zone.location, Now: d.clock.Wall, Off: d.modelOff}
	// The store takes the lock of the home: a second hob for this home ends here.
	if err := d.open(ctx); err != nil {
		return startFault(o.Home, err)
	}
	// The port is opened before the parts are made, because they need its address. Requests wait until Serve.
	srv, err := d.listen(ctx)
	if err != nil {
		return errors.Join(err, d.store.Close(context.WithoutCancel(ctx)))
	}
	return d.serve(ctx, srv, start, release)
}

// open opens the store and recovers what an earlier process left unfinished. Everything here works without the parts.
func (d *daemon) open(ctx context.Context) (err error) {
	lost := d.opt.lost // refuses to create a database in place of a lost one
	if d.opt.NewDatabase {
		lost = func(string) error { return toolset.RemoveMemory(d.opt.state()) } // it is of the lost database
	}
	// Who owns an address is known from the config and from pairings. The store needs the list before it can load the pairings, so it gets an
	// empty one, which it fills.
	paired := &store.PairedOwners{}
	d.recipients = channels.Recipients{Configured: func() []event.Address { return ownerAddresses(d.config()) }, Paired: paired.Paired, Channels: channels.NewTable()}
	d.store, err = store.Open(ctx, store.Options{
		Lost: lost, Upgrade: func(u sqlite.Upgrade) (end func()) { return upgrading(u, d.clock, d.log) },
		Dir: d.opt.state(), Version: d.opt.Version, Clock: d.clock, IDs: d.ids,
		Zone: d.zone.name, Owner: d.recipients.Owner, Paired: paired, Config: d.limits, Log: d.log, Sum: d.live.Sum,
	})
	if err != nil {
		return err
	}
	// The view reads with connections of its own, so that lists never wait for a commit.
	d.view = store.NewView(d.store.Reader(), d.zone.now(d.clock))
	d.artifacts = artifacts.Store{Dir: filepath.Join(d.opt.state(), "artifacts"), Workspace: d.opt.workspace(), Rows: d.store.Artifacts, View: d.view, IDs: d.ids}
	err = d.store.Jobs.DisableUnreadable(ctx)
	// After a crash the leftovers are removed before any part runs, because a part could begin to use them.
	if d.store.Boot().Crashed && err == nil {
		err = d.recover(ctx)
	}
	if n := d.store.Boot().Lost; n > 0 && err == nil {
		err = d.store.Events.Notice(ctx, fmt.Sprintf("log:%d", d.store.Epoch()), "Rows are lost: "+lostText(n)+".")
	}
	if err == nil {
		err = d.artifacts.RemoveSent(ctx)
	}
	if err != nil {
		return errors.Join(err, d.store.Close(context.WithoutCancel(ctx)))
	}
	return nil
}

// recover removes what a crash may have left outside the database: child processes and half-written files.
func (d *daemon) recover(ctx context.Context) error {
	if fail.Broken("keep-orphans") {
		return nil
	}
	if err := toolset.Recover(ctx, d.opt.toolHome(), d.log); err != nil || fail.Broken("keep-temp") {
		return err
	}
	// Every durable write goes to a temporary file first, so a file with such a name was never in use.
	for _, left := range []string{"*.tmp", filepath.Join("backups", "*.part"), filepath.Join("backups", "*.part-journal")} {
		files, err := filepath.Glob(filepath.Join(d.opt.state(), left))
		for _, f := range files {
			err = errors.Join(err, os.Remove(f))
		}
		if err != nil {
			return fmt.Errorf("sweep half-written files: %w", err)
		}
	}
	// Rows decide which artifacts exist: a file without a row is the rest of an unfinished write.
	return d.artifacts.Sweep(ctx)
}

// listen opens the socket and the address of the local API. A socket in use means that another hob runs for this home.
func (d *daemon) listen(ctx context.Context) (*server.Server, error) {
	addr := d.opt.Listen
	if addr == "" {
		addr = d.config().Web.Listen
	}
	srv, err := server.Listen(ctx, server.Config{State: d.opt.state(), Addr: addr})
	if errors.Is(err, server.ErrInUse) {
		return nil, ErrRunning
	}
	if err != nil {
		return nil, err
	}
	d.address = srv.Addr()
	return srv, nil
}

// stage is a group of parts that start and stop together. There are three, so that a stop can begin with the receivers and end with the senders.
type stage struct {
	*sys.Group
	ctx  context.Context //nolint:containedctx // ends when the stage is stopped
	stop context.CancelFunc
}

// stage returns an empty stage. It does not end with ctx: only drain stops it, in its turn.
func (d *daemon) stage(ctx context.Context) stage {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	return stage{sys.NewGroup(d.log, func(name string, err error) {
		d.restarts.note(name, d.clock.Mono())
		d.failed(context.WithoutCancel(ctx), name, plain(err))
	}), ctx, stop}
}

// failed tells the owner that a part had to be restarted, at most once an hour for each part. The log has every restart.
func (d *daemon) failed(ctx context.Context, name string, err error) {
	// The key of the notice has the hour; the outbox drops a row with a key that it has.
	hour := d.clock.Wall().Unix() / 3600
	line, _, _ := strings.Cut(err.Error(), "\n")
	d.tellers.Once("tell of "+name, func() error {
		return d.store.Events.Notice(ctx, fmt.Sprintf("part:%s:%d", name, hour), fmt.Sprintf("Part of hob failed and was started again: %s: %s", name, line))
	})
}

// serve wires the parts and runs them until ctx ends.
func (d *daemon) serve(ctx context.Context, srv *server.Server, start time.Duration, release func()) error {
	out, core, in := d.stage(ctx), d.stage(ctx), d.stage(ctx)
	// The terminal's channel has no connection: the API posts its messages, and clients read its answers from the event stream.
	cliChannel := cli.New(d.store.Inbox, d.artifacts, d.clock, d.ids, d.config().Owner.Name)
	// wire has already started small parts in the stages, so these are stopped even though nothing serves yet.
	if err := d.wire(out, in); err != nil {
		in.stop()
		core.stop()
		out.stop()
		return errors.Join(err, srv.Close(), d.tools.CloseMemory(), d.store.Close(context.WithoutCancel(ctx)))
	}
	// Data flows from in (channels, API, scheduler) through core (turns) to out (sends). Senders start first, receivers last.
	out.Go(out.ctx, "outbox", d.pump.Run)
	core.Go(core.ctx, "thread", d.thread.Run)
	core.Go(core.ctx, "sub-agents", d.subagents.Run)
	core.Go(core.ctx, "background commands", d.tools.Registry.Run)
	core.Go(core.ctx, "commands", d.commands.Run)
	in.Go(in.ctx, "model windows", d.models.Run)
	out.Go(out.ctx, "clock", d.clock.WatchJumps)
	in.Go(in.ctx, "scheduler", d.fire(d.runner.Run))
	in.Go(in.ctx, "gates", d.fire(d.gateRunner.Run))
	in.Go(in.ctx, "file watches", d.fire(d.watcher.Run))
	in.Go(in.ctx, "channels", d.host.Run)
	in.Go(in.ctx, "api", func(ctx context.Context) error {
		return srv.Serve(ctx, server.New(d.localAPI(cliChannel)), d.log)
	})
	watch := storageWatch{d.opt.state(), d.store.Backups, d.store.Events, d.recipients, d.zone, &d.restarts, d.clock, d.ids, d.log}
	in.Go(in.ctx, "storage", watch.run)
	in.Go(in.ctx, "database files", watch.watchFiles)
	in.Go(in.ctx, "config", d.reloader.run)
	in.Go(in.ctx, "housekeeping", d.keepHouse)
	in.Go(in.ctx, "skills", func(ctx context.Context) error { return d.skills.Run(ctx, d.store.Outbox.QuestionsSignal) })
	in.Go(in.ctx, "MCP servers", func(ctx context.Context) error { return d.mcp.Run(ctx, d.store.Outbox.QuestionsSignal) })
	in.Go(in.ctx, "accounts", d.accounts.SignIns().Run)
	in.Go(in.ctx, "memory index", d.tools.Remembers.Run)
	in.Go(in.ctx, "backups", d.backups.Run)
	// Only now does hob say that it is ready; the service manager hears of it last.
	d.ready(ctx, srv, start)
	release()
	ended := in.values("history signal", d.store.Events.EventsSignal)
	in.Go(in.ctx, "history", func(ctx context.Context) error { return d.tools.Remembers.RunHistory(ctx, ended) })
	in.Go(in.ctx, "memory", memoryRelease{d.store.Turns.InboxSignal, d.turn}.run)
	d.supervise(in)
	<-ctx.Done()
	return d.drain(ctx, in, core, out)
}

// drain stops in reverse: nothing new is received, then the thread puts its turn back into the queue, then sends under way are finished.
func (d *daemon) drain(ctx context.Context, in, core, out stage) error {
	d.log.Info("stopping")
	ended := make(chan struct{})
	last := sys.NewGroup(d.log, nil)
	last.Once("drain", func() error {
		defer close(ended)
		// The order matters: a turn that ends while the receivers are stopped can still queue its answer, and the senders still send it.
		in.stop()
		core.stop()
		d.mcp.SignIns().Redirects().Close()
		core.Wait()
		out.stop()
		out.Wait()
		in.Wait()
		d.account.Close()
		d.tellers.Wait()
		return nil
	})
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-ended:
		return errors.Join(d.tools.CloseMemory(), d.store.Close(context.WithoutCancel(ctx)))
	// The store is not closed then: a part may still be writing. A commit is whole or not there, so nothing is damaged.
	case <-timer.C:
		return event.NewFault(event.Unavailable, "what was running will be looked at again at the next start", "not everything stopped within %s", drainTime)
	}
}

// fire runs a part of the scheduler. In safe mode it waits until that ends, so that a job that crashes hob cannot do so again.
func (d *daemon) fire(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		// A machine without a battery for its clock starts with a wrong time; slots must not fire by it.
		if sys.SyncClock(ctx, d.clock, d.store.Boot().Last) {
			d.log.Info("waited for the machine's clock to be set", "now", d.clock.Wall())
		}
		for ctx.Err() == nil {
			// The signal is taken before safe mode is read, so that no change in between is missed.
			changed := d.store.Jobs.JobsSignal()
			safe, err := d.store.Settings.SafeMode(ctx)
			if err != nil {
				return err
			}
			if safe == "" {
				return run(ctx)
			}
			select {
			case <-ctx.Done():
			case <-changed:
			}
		}
		return nil
	}
}

// keepHouse removes old events and requests of programs once a day.
func (d *daemon) keepHouse(ctx context.Context) error {
	tick := time.NewTicker(24 * time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			before := d.clock.Wall().Add(-keepEvents)
			if err := errors.Join(d.store.Events.Trim(ctx, before), d.store.Endpoints().Trim(ctx, before)); err != nil {
				return err
			}
		}
	}
}

// ready logs and reports that hob has started.
func (d *daemon) ready(ctx context.Context, srv *server.Server, start time.Duration) {
	// The terminal is a channel without a section in the config.
	names := []string{event.CLI.Channel()}
	for _, c := range d.config().Channels {
		names = append(names, c.Name)
	}
	r := Ready{After: d.clock.Mono() - start, Address: d.address, Model: d.models.First().Name(), Channels: names, Notes: d.notes(ctx)}
	if taken := srv.Taken(); taken != "" {
		// An address of the config that is in use ends the start.
		r.Notes = append(r.Notes, taken+" is taken by another program: the API is at "+d.address+", and so are webhooks: hob hook list")
	}
	d.log.Info("ready", "after", r.After, "address", r.Address, "model", r.Model, "epoch", d.store.Epoch())
	if d.opt.Ready != nil {
		d.opt.Ready(r)
	}
	// Last, because the probe starts processes and must not delay the ready line.
	d.tellers.Once("sandbox", func() error { return probeSandbox(d.live) })
}

// notes lists what the owner should know at a start.
func (d *daemon) notes(ctx context.Context) []string {
	notes := d.problems.list(false)
	if d.config().Guard.Mode == "open" {
		notes = append(notes, "guard.mode is open: tools run without asking")
	}
	safe, err := d.store.Settings.SafeMode(ctx)
	if err != nil {
		safe = err.Error()
	}
	if safe != "" {
		notes = append(notes, "safe mode is on: "+safe+" (hob safe-mode off)")
	}
	if b := d.store.Boot(); b.CrashingTurn != 0 {
		notes = append(notes, fmt.Sprintf("turn %d was given up: hob ended unexpectedly each time it ran (hob turns show %d)", b.CrashingTurn, b.CrashingTurn))
	}
	return notes
}
