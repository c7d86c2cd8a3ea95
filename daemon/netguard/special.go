package netguard

import "net/netip"

// network is an entry of the list of special-use networks.
type network struct {
	prefix netip.Prefix
	name   string
	local  bool // a private network: the owner may approve a host in it
}

// networks lists the networks that are not part of the public internet or that host no public service: every row of the IANA IPv4 and
// IPv6 Special-Purpose Address Registries (https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry;
// RFC 6890), including the globally reachable ones, which are anycast infrastructure; multicast (RFC 5771, RFC 4291); IPv6 forms that
// contain an IPv4 address (RFC 4291 section 2.5.5, RFC 2765, RFC 3056, RFC 4380); and the addresses at which clouds serve the keys of
// their machines. The first row that contains an address names it.
func networks() []network {
	p := netip.MustParsePrefix
	return []network{
		{p("169.254.169.254/32"), "cloud metadata", false},
		{p("169.254.170.2/32"), "cloud metadata", false},
		{p("169.254.170.23/32"), "cloud metadata", false},
		{p("100.100.100.200/32"), "cloud metadata", false},
		{p("192.0.0.192/32"), "cloud metadata", false},
		{p("168.63.129.16/32"), "cloud metadata", false},
		{p("fd00:ec2::/32"), "cloud metadata", false},
		{p("fd20:ce::/32"), "cloud metadata", false},
		{p("fd00:42::/32"), "cloud metadata", false},

		{p("127.0.0.0/8"), "loopback", true},
		{p("10.0.0.0/8"), "private use", true},
		{p("172.16.0.0/12"), "private use", true},
		{p("192.168.0.0/16"), "private use", true},
		{p("169.254.0.0/16"), "link local", true},
		{p("100.64.0.0/10"), "shared address space", true},
		{p("198.18.0.0/15"), "benchmarking", true},
		{p("0.0.0.0/8"), "this network", false},
		{p("192.0.0.0/24"), "protocol assignments", false},
		{p("192.0.2.0/24"), "documentation", false},
		{p("198.51.100.0/24"), "documentation", false},
		{p("203.0.113.0/24"), "documentation", false},
		{p("192.31.196.0/24"), "AS112", false},
		{p("192.175.48.0/24"), "AS112", false},
		{p("192.52.193.0/24"), "AMT", false},
		{p("192.88.99.0/24"), "6to4 relay", false},
		{p("224.0.0.0/4"), "multicast", false},
		{p("255.255.255.255/32"), "broadcast", false},
		{p("240.0.0.0/4"), "reserved", false},

		{p("::1/128"), "loopback", true},
		{p("fc00::/7"), "private use", true},
		{p("fe80::/10"), "link local", true},
		{p("::/128"), "unspecified", false},
		{p("::ffff:0:0/96"), "IPv4 in IPv6", false},
		{p("::ffff:0:0:0/96"), "IPv4 in IPv6", false},
		{p("::/96"), "IPv4 in IPv6", false},
		{p("64:ff9b:1::/48"), "local NAT64", false},
		{p("100::/64"), "discard only", false},
		{p("100:0:0:1::/64"), "dummy", false},
		{p("2001::/32"), "Teredo", false},
		{p("2001::/23"), "protocol assignments", false},
		{p("2001:db8::/32"), "documentation", false},
		{p("2002::/16"), "6to4", false},
		{p("2620:4f:8000::/48"), "AS112", false},
		{p("3fff::/20"), "documentation", false},
		{p("5f00::/16"), "segment routing", false},
		{p("fec0::/10"), "site local", false},
		{p("ff00::/8"), "multicast", false},
	}
}

// global and nat64 are the public IPv6 ranges: global unicast (RFC 4291 section 2.4), and the addresses that a network without IPv4
// translates (RFC 6052), whose last four bytes decide.
var (
	global = netip.MustParsePrefix("2000::/3")
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
)

// Special names the special-use network of an address; "": the address is public. An invalid address is special too. A zone makes no
// difference.
func Special(a netip.Addr) string {
	n := special(a)
	return n.name
}

// special finds the network of an address. The zero network means that the address is public.
func special(a netip.Addr) network {
	a = a.WithZone("")
	if !a.IsValid() {
		return network{name: "no address"}
	}
	if nat64.Contains(a) {
		b := a.As16()
		return special(netip.AddrFrom4([4]byte(b[12:])))
	}
	for _, n := range networks() {
		if n.prefix.Contains(a) {
			return n
		}
	}
	if a.Is6() && !global.Contains(a) {
		return network{name: "unassigned"}
	}
	return network{}
}
