package derive

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

func TestBcryptHash(t *testing.T) {
	t.Parallel()
	passwords := []string{"", "a", "password", "pass word", "pass\x00word", "Пароль", strings.Repeat("x", 71), strings.Repeat("y", 72)}
	for i := range 20 {
		passwords = append(passwords, string(read(endless(t, fmt.Sprint("password ", i)), 3*i+1)))
	}
	for cost := bcrypt.MinCost; cost <= bcrypt.DefaultCost; cost++ {
		for i, password := range passwords {
			if cost > 5 && i%len(passwords) != 3*cost%len(passwords) {
				continue // each step doubles the time
			}
			salt := [16]byte(read(endless(t, fmt.Sprint("salt ", i)), 16))
			hash, err := bcryptHash([]byte(password), cost, salt)
			if err != nil {
				t.Fatal(err)
			}
			if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)); err != nil {
				t.Errorf("cost %d, %q: %v", cost, password, err)
			}
			if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password[:len(password)/2]+"!")); err == nil {
				t.Errorf("cost %d, %q: another password is right too", cost, password)
			}
			if got, err := bcrypt.Cost([]byte(hash)); got != cost || err != nil || !strings.HasPrefix(hash, "$2a$") || len(hash) != 60 {
				t.Errorf("got %q with cost %d and %v, want cost %d", hash, got, err, cost)
			}
			salt[15]++
			if other, _ := bcryptHash([]byte(password), cost, salt); other == hash {
				t.Errorf("cost %d, %q: two salts give one hash", cost, password)
			}
		}
	}
}

func TestBcryptRefuses(t *testing.T) {
	t.Parallel()
	if _, err := bcryptHash(make([]byte, 73), bcrypt.MinCost, [16]byte{}); !errors.Is(err, bcrypt.ErrPasswordTooLong) {
		t.Errorf("got %v, want %v", err, bcrypt.ErrPasswordTooLong)
	}
	for _, cost := range []int{-1, bcrypt.MinCost - 1, bcrypt.MaxCost + 1} {
		if hash, err := bcryptHash([]byte("password"), cost, [16]byte{}); err == nil {
			t.Errorf("cost %d: got %q, want an error", cost, hash)
		}
	}
}
