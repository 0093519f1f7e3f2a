package pvesim

import "testing"

func TestPasswordsAreHashedAsCryptDoes(t *testing.T) {
	for _, c := range []struct{ password, salt, want string }{
		{"Hello world!", "saltstring", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"},
		{"päss wörd, and quite a long one at that", "aXb3", "$5$aXb3$UQQjnXM.YgP9vAaoUgHskiKLuF6DyFjb7pq5qV.2n.4"},
	} {
		if got := sha256Crypt(c.password, c.salt); got != c.want {
			t.Errorf("%s with %s: got %s, want %s", c.password, c.salt, got, c.want)
		}
	}
}
