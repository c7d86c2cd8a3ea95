package netguard_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"hob/daemon/netguard"
)

// spellings lists hosts of special-use networks in every form that a resolver, a browser or a person writes. Each line begins with its
// network.
const spellings = `
loopback        127.0.0.1 127.0.0.2 127.255.255.255 127.1 127.0.1 0177.0.0.1 0177.0.1 0177.1 0x7f.0.0.1 0x7f.1 0x7f000001 0X7F000001 2130706433 017700000001
loopback        00000177.0.0.1 127.0.0.01 127.0.0.0x1 127.000.000.001 127.0.0.1. 0x7F.0x0.0x0.0x1 0000000000000000000000177.1 0x00000000000000007f.1
loopback        [::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0001] [::1%lo] [::1%251] [0::0:1]
mapped          [::ffff:127.0.0.1] [::FFFF:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1] [::ffff:10.0.0.1] [::ffff:a9fe:a9fe] [::ffff:192.168.1.1]
compatible      [::127.0.0.1] [::7f00:1] [::10.0.0.1] [::169.254.169.254] [::8.8.8.8] [::ffff:0:127.0.0.1] [::ffff:0:7f00:1]
nat64           [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::10.0.0.1] [64:ff9b::a9fe:a9fe] [64:ff9b::192.168.0.1] [64:ff9b::0.0.0.0] [64:ff9b:1::127.0.0.1] [64:ff9b:1::8.8.8.8]
6to4            [2002:7f00:1::] [2002:7f00:1::1] [2002:a00:1::1] [2002:c0a8:101::1] [2002:a9fe:a9fe::1] [2002:808:808::1]
teredo          [2001:0:7f00:1::] [2001::1] [2001:0:4136:e378:8000:63bf:80ff:fffe] [2001:0:53aa:64c:0:0:5601:5601]
unspecified     0.0.0.0 0 0x0 00 0.0 0.0.0 000.000.000.000 0x00.0x00.0x00.0x00 0.1.2.3 0.255.255.255 [::] [0:0:0:0:0:0:0:0] [::0]
private         10.0.0.0 10.0.0.1 10.1 10.255.255.255 167772161 0xa000001 012.0.0.1 0xa.1 172.16.0.1 172.31.255.255 172.16.1 2886729729 0xac100001 0254.020.0.1
private         192.168.0.1 192.168.1 192.168.257 3232235521 0xc0a80001 0300.0250.0.1 0xc0.0xa8.0.1 192.168.255.255 030052000001 192.0xa8.0.01
cgnat           100.64.0.1 100.127.255.255 100.100.100.200 1681915905 0x64400001 0144.0100.0.1 100.64.1
link-local      169.254.169.254 169.254.0.1 169.254.255.255 2852039166 0xa9fea9fe 0xA9.0xFE.0xA9.0xFE 0251.0376.0251.0376 169.254.43518 169.16689662 0251.254.169.254
link-local      025177524776 169.254.170.2 169.254.170.23 [fe80::1] [fe80::1%25eth0] [fe80::a9fe:a9fe] [febf::1] [FE80::1]
metadata        [fd00:ec2::254] [fd00:ec2::23] [fd00:0ec2:0:0:0:0:0:254] [fd20:ce::254] [fd00:42::42] 168.63.129.16 2822734096 192.0.0.192 metadata.google.internal instance-data.ec2.internal
protocol        192.0.0.0 192.0.0.8 192.0.0.9 192.0.0.10 192.0.0.170 192.0.0.171 192.0.0.255
documentation   192.0.2.1 198.51.100.1 203.0.113.7 [2001:db8::1] [2001:db8:ffff::1] [3fff::1] [3fff:fff::1] 3221225985
as112           192.31.196.1 192.175.48.1 [2620:4f:8000::1] [2001:4:112::1]
amt             192.52.193.1 [2001:3::1]
relay           192.88.99.1 192.88.99.2
benchmarking    198.18.0.1 198.19.255.255 [2001:2::1]
multicast       224.0.0.1 224.0.0.251 239.255.255.250 232.1.1.1 3758096385 0xe0000001 [ff02::1] [ff02::fb] [ff05::2] [ff0e::1] [ff00::]
reserved        240.0.0.1 255.255.255.254 250.1.2.3 4026531841 0xf0000001
broadcast       255.255.255.255 4294967295 0xffffffff 037777777777 255.16777215 0377.0377.0377.0377
unique-local    [fc00::1] [fd00::1] [fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff] [fd12:3456:789a::1] [FD00::1]
site-local      [fec0::1] [feff::1]
discard         [100::1] [100:0:0:1::1]
orchid          [2001:10::1] [2001:20::1] [2001:30::1] [2001:1::1] [2001:1::2] [2001:1ff::1]
sid             [5f00::1] [5f00:ffff::1]
unassigned      [4000::1] [8000::1] [200::1] [1::1] [e000::1]
scripts         １２７.０.０.１ 127。0。0。1 ①②⑦.⓪.⓪.① ｌｏｃａｌｈｏｓｔ ⓛocalhost 127．0．0．1 ０x7f.1
names           localhost LOCALHOST localhost. a.localhost router fritz.box.local printer.local nas.lan host.docker.internal box.home.arpa wiki.corp svc.cluster.local localhost.localdomain
hidden          %31%32%37.0.0.1 127.0.0.1%00 127.0.0.1%2e 127%2e0%2e0%2e1 127.0.0.1%09 [::1 ::1 1.2.3.4.5 256.256.256.256 0x 127.0.0.256 08.8.8.8 1.2.3.0x1ff
`

// looked lists names that only a DNS lookup shows to be private, with the answers of the name server.
func looked() map[string][][]netip.Addr {
	all := map[string][][]netip.Addr{}
	for i, a := range []string{
		"127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.20.1.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1",
		"203.0.113.1", "224.0.0.251", "240.0.0.1", "255.255.255.255", "168.63.129.16", "192.88.99.1", "::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1",
		"64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::1", "2001:0:7f00:1::1", "2001:db8::1", "::ffff:127.0.0.1", "::127.0.0.1", "3fff::1", "5f00::1", "fec0::1", "100::1",
	} {
		all[fmt.Sprintf("n%d.example.org", i)] = [][]netip.Addr{addrs(a)}
	}
	all["two.example.org"] = [][]netip.Addr{addrs("10.0.0.1", "192.168.0.1", "::1")}
	return all
}

// trap counts connections to a port of this machine.
func trap(t *testing.T) (port string, hits *atomic.Int64) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hits, done := &atomic.Int64{}, make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			hits.Add(1)
			if err := c.Close(); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, hits
}

// None of the spellings is dialled, even if it leads to a port with a listener. Each is private, by itself or after a lookup.
func TestForbiddenSpellings(t *testing.T) {
	port, hits := trap(t)
	answers := looked()
	answers["router"], answers["a.localhost"] = [][]netip.Addr{addrs("127.0.0.1")}, [][]netip.Addr{addrs("127.0.0.1")}
	for _, name := range []string{"metadata.google.internal", "instance-data.ec2.internal", "fritz.box.local", "printer.local", "nas.lan", "host.docker.internal", "box.home.arpa", "wiki.corp", "svc.cluster.local", "localhost.localdomain"} {
		answers[name] = [][]netip.Addr{addrs("127.0.0.1")}
	}
	_, resolver := serveNames(t, answers)
	client := netguard.NewClient(netguard.Config{Resolver: resolver})
	n := 0
	try := func(kind, host string) {
		n++
		for _, scheme := range []string{"http", "https"} {
			_, err := client.Do(t.Context(), netguard.Request{Link: scheme + "://" + host + ":" + port + "/"})
			if !errors.Is(err, netguard.ErrForbidden) && !errors.Is(err, netguard.ErrAddress) {
				t.Errorf("%s, %s://%s: %v", kind, scheme, host, err)
			}
			if e, ok := errors.AsType[*netguard.Error](err); !ok || e.Sent {
				t.Errorf("%s, %s://%s: something was sent: %v", kind, scheme, host, err)
			}
		}
	}
	for line := range strings.Lines(strings.TrimSpace(spellings)) {
		fields := strings.Fields(line)
		for _, host := range fields[1:] {
			try(fields[0], host)
			if !netguard.Private(host) {
				t.Errorf("%s is not private", host)
			}
		}
	}
	for name := range looked() {
		try("looked up", name)
		if netguard.Private(name) {
			t.Errorf("%s is private, by its name alone", name)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d connections", hits.Load())
	}
	if n < 200 {
		t.Errorf("%d spellings", n)
	}
	t.Logf("%d spellings", n)
}

// An approved host opens the private networks, and no other special one.
func TestApprovedHostsStayOutOfReservedNetworks(t *testing.T) {
	answers := map[string][][]netip.Addr{}
	for i, a := range []string{"169.254.169.254", "fd00:ec2::254", "168.63.129.16", "100.100.100.200", "0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "240.0.0.1", "64:ff9b::a9fe:a9fe", "::ffff:0:127.0.0.1"} {
		answers[fmt.Sprintf("n%d.lan", i)] = [][]netip.Addr{addrs(a)}
	}
	_, resolver := serveNames(t, answers)
	client := netguard.NewClient(netguard.Config{Resolver: resolver})
	for name, a := range answers {
		if _, err := client.Do(t.Context(), netguard.Request{Link: "http://" + name + "/", Private: true}); !errors.Is(err, netguard.ErrForbidden) {
			t.Errorf("%v: %v", a, err)
		}
	}
}

func TestSpecial(t *testing.T) {
	for _, c := range []struct{ addr, want string }{
		{"8.8.8.8", ""},
		{"1.1.1.1", ""},
		{"9.255.255.255", ""},
		{"11.0.0.0", ""},
		{"172.15.255.255", ""},
		{"172.32.0.0", ""},
		{"192.167.255.255", ""},
		{"192.169.0.0", ""},
		{"100.63.255.255", ""},
		{"100.128.0.0", ""},
		{"169.253.255.255", ""},
		{"169.255.0.0", ""},
		{"198.17.255.255", ""},
		{"198.20.0.0", ""},
		{"223.255.255.255", ""},
		{"126.255.255.255", ""},
		{"128.0.0.0", ""},
		{"192.0.1.0", ""},
		{"192.0.3.0", ""},
		{"1.0.0.0", ""},
		{"2606:4700:4700::1111", ""},
		{"2001:4860:4860::8888", ""},
		{"2001:200::1", ""},
		{"2003::1", ""},
		{"64:ff9b::8.8.8.8", ""},
		{"3ffe::1", ""},
		{"127.0.0.1", "loopback"},
		{"239.1.1.1", "multicast"},
		{"255.255.255.255", "broadcast"},
		{"254.0.0.1", "reserved"},
		{"fe80::1%eth0", "link local"},
		{"2001:2::", "protocol assignments"},
		{"169.254.169.254", "cloud metadata"},
		{"64:ff9b::10.0.0.1", "private use"},
		{"::2", "IPv4 in IPv6"},
		{"4000::", "unassigned"},
	} {
		if got := netguard.Special(netip.MustParseAddr(c.addr)); got != c.want {
			t.Errorf("%s is %q, want %q", c.addr, got, c.want)
		}
	}
	if netguard.Special(netip.Addr{}) == "" {
		t.Error("no address is public")
	}
}
