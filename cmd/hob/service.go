package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/daemon"
	"hob/daemon/console"
	"hob/packaging/service"
)

// serviceFlags are those that all of hob service have. --dry-run works for all of them.
type serviceFlags struct {
	user   bool
	system bool
	dry    bool
	linger bool
}

// serviceCommand makes hob service. package service knows systemd and launchd: it makes a plan of steps, which
// this file prints or carries out. No daemon is needed.
func serviceCommand(a *cli.App) *cobra.Command {
	f := &serviceFlags{}
	install := serviceChange(a, f, "install", "Make hob a service that starts by itself, and start it")
	install.Long = "Make hob a service of systemd or launchd: of yours, without root, or of the whole machine.\n" +
		"What is already so stays as it is; after an upgrade, or with another program or home, it is brought up to date."
	install.Example = "  hob service install --user --dry-run\n  sudo hob service install --system"
	install.Flags().BoolVar(&f.linger, "linger", false, "let your services run when you are not logged in (loginctl enable-linger)")
	cmd := cli.Family("service", "Let hob run as a service of this machine", install,
		serviceChange(a, f, "uninstall", "Stop the service and remove it; the home stays"),
		serviceChange(a, f, "start", "Start the service"), serviceChange(a, f, "stop", "Stop the service"), serviceChange(a, f, "restart", "Start the service again"),
		serviceStatus(a, f), serviceLogs(a, f))
	// Every subcommand has them, so that a service is chosen in the same way everywhere.
	p := cmd.PersistentFlags()
	p.BoolVar(&f.user, "user", false, "your own service (default)")
	p.BoolVar(&f.system, "system", false, "the service of the whole machine; changing it needs root")
	p.BoolVar(&f.dry, "dry-run", false, "show every file and every command, and change nothing")
	return cmd
}

// serviceChange makes a command that plans steps and carries them out.
func serviceChange(a *cli.App, f *serviceFlags, verb, short string) *cobra.Command {
	return &cobra.Command{
		Use: verb, Short: short, Args: cli.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := manage(cmd.Context(), a, *f, verb)
			if err != nil {
				return err
			}
			if verb == "install" {
				// Only a new service is asked about; the plan then has one step more.
				if err := s.offerLinger(cmd.Context(), false); err != nil {
					return err
				}
			}
			// The plan contains only what is not so yet. An installed service that fits has an empty plan.
			steps, err := s.plan(cmd.Context(), verb)
			if err != nil {
				return err
			}
			return s.carryOut(cmd.Context(), steps, verb)
		},
	}
}

// managed is the service that a command line refers to. manager speaks to systemd or launchd, machine has facts
// about this system, and spec describes the unit.
type managed struct {
	app     *cli.App
	manager service.Manager
	machine service.Machine
	spec    service.Spec
	flags   serviceFlags
}

// manage finds out which service is meant. Without a flag it is the one that is installed, the user's own
// first. It only reads; plan and carryOut change things. From here on PATH has no folder that a confined command may write.
func manage(ctx context.Context, a *cli.App, f serviceFlags, verb string) (*managed, error) {
	if f.user && f.system {
		return nil, cli.Usage("the user's own needs no root; --system runs for the whole machine", "--user and --system exclude each other")
	}
	m, err := service.Here()
	if err != nil {
		return nil, err
	}
	program, err := service.Program(os.Args[0])
	if err != nil {
		return nil, err
	}
	// Root could mean either one, and a wrong guess would put files into the wrong home.
	if verb == "install" && m.UID == 0 && !f.user && !f.system {
		return nil, cli.Usage(program+" service install --system: for the whole machine, as the user hob; --user: root's own", "root has to say which service is meant")
	}
	// install without a flag means the user's own service; any other verb means the one that is installed.
	system := f.system || !f.user && verb != "install" && service.Choose(m)
	spec := service.Spec{Program: program, System: system, Linger: f.linger}
	if !system { // root's shell says nothing of the user hob
		spec.Path = service.SearchPath(os.Getenv("PATH"))
	}
	home, named, err := a.HomeDir()
	if err != nil {
		return nil, err
	}
	// A home that is named must be in the unit: the service would otherwise use the default one.
	if named {
		spec.Home = home
	}
	// The unit of the whole machine fixes its home, because its user and its folders are made for that one.
	if system && m.OS == "linux" && a.Home != "" && home != service.SystemHome {
		return nil, cli.Usage("leave --home out", "the service of the whole machine has its home in %s", service.SystemHome)
	}
	manager, err := service.For(m, spec)
	if err != nil {
		return nil, err
	}
	return &managed{a, manager, m, spec, f}, usePath(ctx, home, system && m.OS == "linux")
}

// systemPath is where programs of the service manager are looked for when no config says which other folders are safe.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// usePath leaves those folders out of this process's PATH that a command in the sandbox of the home's hob may write. The programs of the
// service manager run outside every sandbox.
func usePath(ctx context.Context, home string, system bool) error {
	if system {
		home = service.SystemHome
	}
	path := systemPath
	if c, _, _ := config.Load(filepath.Join(home, "config.toml"), os.Environ()); c != nil {
		path = daemon.SafePath(ctx, home, c)
	}
	return os.Setenv("PATH", path)
}

// offerLinger asks, or says, what a user's service needs to outlive a login, unless the person has agreed already. systemd ends the services of a
// user at the last logout unless the user lingers.
func (s *managed) offerLinger(ctx context.Context, agreed bool) error {
	if s.spec.System || s.spec.Linger || s.machine.OS != "linux" || s.machine.UID == 0 {
		return nil
	}
	lingers, err := service.Lingers(ctx, s.machine.User)
	if errors.Is(err, exec.ErrNotFound) {
		return nil // no systemd: the plan says so
	}
	if err != nil || lingers {
		return err
	}
	if agreed {
		return s.linger()
	}
	command := "loginctl enable-linger " + s.machine.User
	// Nobody can be asked, or nothing may change: the person is only told.
	if s.flags.dry || s.app.JSON || s.app.Quiet || !cli.IsTerminal(s.app.In) || !cli.IsTerminal(s.app.Err) {
		s.app.Note("hob will stop when you log out, and start when you log in; to let it run all the time, add --linger or type: " + command)
		return nil
	}
	s.app.Print(s.app.Err, "hob would stop when you log out. Let your services run all the time ("+command+")? [Y/n]")
	// Enter alone means yes: most people want hob to go on after they log out.
	line, err := bufio.NewReader(s.app.In).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read your answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "", "y", "yes":
		return s.linger()
	}
	return nil
}

// linger adds to the installation that the user's services run without a login.
func (s *managed) linger() (err error) {
	s.spec.Linger = true
	s.manager, err = service.For(s.machine, s.spec)
	return err
}

// plan asks the service manager of this system for the steps of a verb. It changes nothing.
func (s *managed) plan(ctx context.Context, verb string) ([]service.Step, error) {
	switch verb {
	case "install":
		return s.manager.Install(ctx)
	case "uninstall":
		return s.manager.Uninstall(ctx)
	}
	return s.manager.Control(ctx, service.Verb(verb))
}

// carryOut does a plan and prints every step, or only prints it. A step that fails ends the plan; the steps
// before it stay done and were printed.
func (s *managed) carryOut(ctx context.Context, steps []service.Step, verb string) error {
	// An empty list must be [] in JSON, never null.
	shown := []service.Step{}
	tell := func(step service.Step) {
		shown = append(shown, step)
		if !s.app.JSON && !s.app.Quiet && !s.flags.dry {
			s.app.Say("%s", step.Did())
		}
	}
	// A dry run prints every step in the same order as the real one.
	if s.flags.dry {
		s.rehearse(ctx, steps, tell)
	} else if err := service.Do(ctx, steps, tell); err != nil {
		return s.cutShort(err, shown)
	}
	if s.app.JSON {
		return s.app.Document(map[string]any{"dry_run": s.flags.dry, "steps": shown})
	}
	s.sayEnd(verb, len(shown))
	return nil
}

// cutShort adds the completed steps to the JSON document of an error. In text form they were printed already. A
// caller that reads JSON must learn which steps were done before the failure.
func (s *managed) cutShort(err error, done []service.Step) error {
	if !s.app.JSON {
		return err
	}
	code, text, hint := cli.Explain(err)
	return &cli.Problem{Code: code, Text: text, Hint: hint, Doc: map[string]any{"error": text, "hint": hint, "steps": done}}
}

// rehearse prints the steps of a dry run, and why they would be refused.
func (s *managed) rehearse(ctx context.Context, steps []service.Step, tell func(service.Step)) {
	// Each step is checked by itself: the first refusal would end a real run, but a dry run shows all of them.
	for _, step := range steps {
		if err := step.Objection(ctx); err != nil {
			_, text, hint := cli.Explain(err)
			s.app.Note("this would be refused: " + console.Clean(text+"; "+hint))
		}
		if !step.Shown() {
			continue
		}
		tell(step)
		if !s.app.JSON {
			s.app.Print(s.app.Out, console.Clean(step.Would()))
		}
	}
}

// sayEnd is the sentence below the steps. It says what to do next, or that nothing happened.
func (s *managed) sayEnd(verb string, done int) {
	if s.app.Quiet {
		return
	}
	switch {
	case s.flags.dry && done == 0:
		s.app.Say("nothing would change")
	case s.flags.dry:
		s.app.Say("nothing was changed")
	case done == 0:
		s.app.Say("there is nothing to %s", verb)
	case verb == "install":
		s.app.Say("hob is installed and runs; look at it with: hob service status")
	case verb == "uninstall":
		s.app.Say("the home stays where it was, with everything hob knows")
	}
}

// serviceStatus makes hob service status.
func serviceStatus(a *cli.App, f *serviceFlags) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show whether the service is enabled and runs", Args: cli.None,
		Long: "Show whether the service is enabled and runs, since when, and how often it was restarted. The exit code is 3 when it does not run.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := manage(cmd.Context(), a, *f, "status")
			if err != nil {
				return err
			}
			if f.dry {
				return cli.Usage("", "hob service status changes nothing; leave --dry-run out")
			}
			// The state comes from the service manager, which knows it even if hob does not answer.
			st, err := s.manager.State(cmd.Context())
			if err != nil {
				return err
			}
			if !a.JSON {
				a.Say("%s", serviceText(a, st))
			} else if st.Running {
				return a.Document(st)
			}
			if st.Running {
				return nil
			}
			// The text was printed above. The exit code tells scripts that the service does not run.
			p := &cli.Problem{Code: cli.ExitNoDaemon}
			if a.JSON {
				p.Doc = st
			}
			return p
		},
	}
}

// installHint says how to install a service of a scope. Root, which has not said which one is meant, is looked at as the whole machine.
func installHint(scope string) string {
	if scope == "system" {
		return "install your own with: hob service install --user, or that of the whole machine with: sudo hob service install --system"
	}
	return "install it with: hob service install --" + scope
}

// serviceText shows a state to a person.
func serviceText(a *cli.App, st service.State) string {
	if !st.Installed {
		return "hob is not installed as a " + st.Scope + " service of " + st.Manager + "\n" + installHint(st.Scope)
	}
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-9s %s\n", name, console.OneLine(text))
		}
	}
	yes := map[bool]string{true: "yes", false: "no"}
	line("service", st.Scope+" service of "+st.Manager+": "+st.File)
	line("enabled", yes[st.Enabled])
	line("running", yes[st.Running]+" · "+st.State)
	if !st.Since.IsZero() {
		line("since", a.Exact(st.Since))
	}
	line("restarts", strconv.Itoa(st.Restarts))
	line("says", st.Says)
	line("path", st.Path)
	if st.Lingers != nil && !*st.Lingers {
		line("lingers", "no: it stops when you log out (loginctl enable-linger)")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// serviceLogs makes hob service logs. It runs the log program of the service manager, whose log also has what
// was written before hob could open its own.
func serviceLogs(a *cli.App, f *serviceFlags) *cobra.Command {
	var lines int
	var follow bool
	cmd := &cobra.Command{
		Use: "logs", Short: "Show the last lines of the service's log", Args: cli.None,
		Example: "  hob service logs -n 50\n  hob service logs -f",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if lines < 0 {
				return cli.Usage("for example -n 100", "-n %d: there are no fewer than none", lines)
			}
			if a.JSON {
				return cli.Usage("leave --json out", "the log of the service has no JSON document to show")
			}
			s, err := manage(cmd.Context(), a, *f, "logs")
			if err != nil {
				return err
			}
			argv := s.manager.Logs(lines, follow)
			if f.dry {
				a.Say("%s", service.Step{Run: argv}.Would())
				return nil
			}
			// The program of the manager would show the empty log of a service that is not there.
			st, err := s.manager.State(cmd.Context())
			if err != nil {
				return err
			}
			if !st.Installed {
				return &cli.Problem{Code: cli.ExitFailed, Text: "hob is not installed as a service, so there is no log of one", Hint: installHint(st.Scope) + "; what hob itself has logged: hob logs"}
			}
			// The program of the manager writes straight to this terminal. Its end by Ctrl-C is no failure.
			show := exec.CommandContext(cmd.Context(), argv[0], argv[1:]...) // #nosec G204 -- journalctl or tail, with our own words
			show.Stdout, show.Stderr = a.Out, a.Err
			if err := show.Run(); err != nil && cmd.Context().Err() == nil {
				return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
			}
			return nil
		},
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 100, "how many lines")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is logged from now on")
	return cmd
}
