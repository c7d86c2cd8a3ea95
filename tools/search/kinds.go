package search

import (
	"slices"
	"strings"

	"hob/daemon/glob"
	"hob/daemon/text"
	"hob/tools"
)

// ofKind returns the pattern for the file names of a type.
func ofKind(kind string) (*glob.Pattern, error) {
	var known []string
	for line := range strings.Lines(kinds) {
		name, globs, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && strings.EqualFold(name, kind) {
			return glob.New("{" + strings.ReplaceAll(globs, ", ", ",") + ",}")
		}
		known = append(known, name)
	}
	hint := "include takes any names: \"*." + kind + "\""
	if near := tools.Nearest(kind, slices.Compact(known), 3); len(near) > 0 {
		hint = text.DidYouMean(near) + " Or: " + hint
	}
	return nil, tools.Refuse(tools.Validation, hint, "%s: not a known type of files", tools.ShownPath(kind))
}

// kinds lists the file names of each type: the common entries of ripgrep's list (rg --type-list),
// and some of their other names.
const kinds = `asciidoc: *.adoc, *.asc, *.asciidoc
asm: *.S, *.asm, *.s
awk: *.awk
bash: *.bash, *.bashrc, *.csh, *.cshrc, *.ksh, *.kshrc, *.sh, *.tcsh, *.zsh, .bash_login, .bash_logout, .bash_profile, .bashrc, .cshrc, .kshrc, .login, .logout, .profile, .tcshrc, .zlogin, .zlogout, .zprofile, .zshenv, .zshrc, bash_login, bash_logout, bash_profile, bashrc, profile, zlogin, zlogout, zprofile, zshenv, zshrc
bazel: *.BUILD, *.bazel, *.bazelrc, *.bzl, BUILD, WORKSPACE
c: *.[chH], *.[chH].in, *.cats
clojure: *.clj, *.cljc, *.cljs, *.cljx
cmake: *.cmake, CMakeLists.txt
config: *.cfg, *.conf, *.config, *.ini
cpp: *.[ChH], *.[ChH].in, *.[ch]pp, *.[ch]pp.in, *.[ch]xx, *.[ch]xx.in, *.cc, *.cc.in, *.hh, *.hh.in, *.inl
crystal: *.cr, Projectfile
cs: *.cs
csharp: *.cs
css: *.css, *.scss
csv: *.csv
d: *.d
dart: *.dart
diff: *.diff, *.patch
docker: *Dockerfile*
elixir: *.eex, *.ex, *.exs
elm: *.elm
erlang: *.erl, *.hrl
fish: *.fish
fortran: *.F, *.F77, *.F90, *.F95, *.f, *.f77, *.f90, *.f95, *.pfo
fsharp: *.fs, *.fsi, *.fsx
go: *.go
golang: *.go
gradle: *.gradle
graphql: *.graphql, *.graphqls
groovy: *.gradle, *.groovy
h: *.h, *.hpp
haskell: *.c2hs, *.cpphs, *.hs, *.hsc, *.lhs
hs: *.hs, *.lhs
html: *.ejs, *.htm, *.html
java: *.java, *.jsp, *.jspx, *.properties
javascript: *.js, *.jsx, *.vue
jinja: *.j2, *.jinja, *.jinja2
js: *.js, *.jsx, *.vue
json: *.json, composer.lock
jsonl: *.jsonl
julia: *.jl
jupyter: *.ipynb, *.jpynb
kotlin: *.kt, *.kts
less: *.less
license: *[.-]LICEN[CS]E*, AGPL-*[0-9]*, APACHE-*[0-9]*, BSD-*[0-9]*, CC-BY-*, COPYING, COPYING[.-]*, COPYRIGHT, COPYRIGHT[.-]*, EULA, EULA[.-]*, GFDL-*[0-9]*, GNU-*[0-9]*, GPL-*[0-9]*, LGPL-*[0-9]*, LICEN[CS]E, LICEN[CS]E[.-]*, MIT-*[0-9]*, MPL-*[0-9]*, NOTICE, NOTICE[.-]*, OFL-*[0-9]*, PATENTS, PATENTS[.-]*, UNLICEN[CS]E, UNLICEN[CS]E[.-]*, agpl[.-]*, gpl[.-]*, lgpl[.-]*, licen[cs]e, licen[cs]e.*
lisp: *.el, *.jl, *.lisp, *.lsp, *.sc, *.scm
lock: *.lock, package-lock.json
log: *.log
lua: *.lua
make: *.mak, *.mk, [Gg][Nn][Uu]makefile, [Gg][Nn][Uu]makefile.am, [Gg][Nn][Uu]makefile.in, [Mm]akefile, [Mm]akefile.am, [Mm]akefile.in
man: *.[0-9][cEFMmpSx], *.[0-9lnpx]
markdown: *.markdown, *.md, *.mdown, *.mkdn
md: *.markdown, *.md, *.mdown, *.mkdn
ml: *.ml
nim: *.nim, *.nimble, *.nimf, *.nims
nix: *.nix
objc: *.h, *.m
ocaml: *.ml, *.mli, *.mll, *.mly
org: *.org, *.org_archive
pascal: *.dpr, *.inc, *.lpr, *.pas, *.pp
perl: *.PL, *.perl, *.pl, *.plh, *.plx, *.pm, *.t
php: *.php, *.php3, *.php4, *.php5, *.phtml
protobuf: *.proto
ps: *.cdxml, *.ps1, *.ps1xml, *.psd1, *.psm1
puppet: *.erb, *.pp, *.rb
py: *.py
python: *.py
r: *.R, *.Rmd, *.Rnw, *.r
racket: *.rkt
rb: *.gemspec, *.rb, *.rbw, .irbrc, Gemfile, Rakefile, config.ru
readme: *README, README*
rs: *.rs
rst: *.rst
ruby: *.gemspec, *.rb, *.rbw, .irbrc, Gemfile, Rakefile, config.ru
rust: *.rs
sass: *.sass, *.scss
scala: *.sbt, *.scala
sh: *.bash, *.bashrc, *.csh, *.cshrc, *.ksh, *.kshrc, *.sh, *.tcsh, *.zsh, .bash_login, .bash_logout, .bash_profile, .bashrc, .cshrc, .kshrc, .login, .logout, .profile, .tcshrc, .zlogin, .zlogout, .zprofile, .zshenv, .zshrc, bash_login, bash_logout, bash_profile, bashrc, profile, zlogin, zlogout, zprofile, zshenv, zshrc
shell: *.bash, *.bashrc, *.csh, *.cshrc, *.ksh, *.kshrc, *.sh, *.tcsh, *.zsh, .bash_login, .bash_logout, .bash_profile, .bashrc, .cshrc, .kshrc, .login, .logout, .profile, .tcshrc, .zlogin, .zlogout, .zprofile, .zshenv, .zshrc, bash_login, bash_logout, bash_profile, bashrc, profile, zlogin, zlogout, zprofile, zshenv, zshrc
sml: *.sig, *.sml
sql: *.psql, *.sql
stylus: *.styl
svelte: *.svelte
svg: *.svg
swift: *.swift
systemd: *.automount, *.conf, *.device, *.link, *.mount, *.path, *.scope, *.service, *.slice, *.socket, *.swap, *.target, *.timer
tcl: *.tcl
tex: *.bib, *.cls, *.dtx, *.ins, *.ltx, *.sty, *.tex
textile: *.textile
tf: *.tf
thrift: *.thrift
toml: *.toml, Cargo.lock
ts: *.ts, *.tsx
txt: *.txt
typescript: *.ts, *.tsx
typst: *.typ
vb: *.vb
verilog: *.sv, *.svh, *.v, *.vh
vhdl: *.vhd, *.vhdl
vim: *.vim
vue: *.vue
webidl: *.idl, *.webidl, *.widl
xml: *.dtd, *.rng, *.sch, *.xhtml, *.xjb, *.xml, *.xml.dist, *.xsd, *.xsl, *.xslt
yaml: *.yaml, *.yml
yml: *.yaml, *.yml
zig: *.zig
zsh: *.zsh, .zlogin, .zlogout, .zprofile, .zshenv, .zshrc, zlogin, zlogout, zprofile, zshenv, zshrc
`
