package prop

// Boot says from what the VM boots: boot.
type Boot struct {
	Order  []string // "scsi0", "net0" …, the first first
	Legacy string   // letters of classes of devices, if there is no Order
	Rest
}

// DefaultBoot is what holds when the VM's config has no boot. A boot that names
// nothing is different: the VM boots from nothing.
var DefaultBoot = Boot{Legacy: "cdn"}

var bootForm = form{name: "boot order", key: "legacy"}

func (b *Boot) fields() []field {
	return []field{
		bind("legacy", &b.Legacy, text),
		words("order", &b.Order),
	}
}

// ParseBoot parses the value of boot.
func ParseBoot(s string) (Boot, error) {
	var b Boot
	if err := bootForm.read(s, b.fields(), &b.Rest); err != nil {
		return Boot{}, err
	}
	return b, nil
}

func (b Boot) String() string { return bootForm.write(b.fields(), b.Rest) }

// Equal reports whether both boot from the same. Order overrides Legacy.
func (b Boot) Equal(o Boot) bool {
	if len(b.Order) > 0 && len(o.Order) > 0 {
		b.Legacy, o.Legacy = "", ""
	}
	return equal(b.fields(), o.fields(), b.Rest, o.Rest)
}

// Startup says when the VM starts with its node: startup.
type Startup struct {
	Order Opt[int] // absent: after all that have one
	Up    Opt[int] // seconds before the next is started
	Down  Opt[int] // seconds before the next is stopped
	Rest
}

var startupForm = form{name: "startup", aliases: map[string]string{"": "order"}}

func (u *Startup) fields() []field {
	return []field{
		bindOpt("order", &u.Order, natural),
		bindOpt("up", &u.Up, natural),
		bindOpt("down", &u.Down, natural),
	}
}

// ParseStartup parses the value of startup.
func ParseStartup(s string) (Startup, error) {
	var u Startup
	if err := startupForm.read(s, u.fields(), &u.Rest); err != nil {
		return Startup{}, err
	}
	return u, nil
}

func (u Startup) String() string { return startupForm.write(u.fields(), u.Rest) }

// Equal reports whether both start alike.
func (u Startup) Equal(o Startup) bool { return equal(u.fields(), o.fields(), u.Rest, o.Rest) }
