package policy

import "testing"

func TestAllowsNothing(t *testing.T) {
	t.Parallel()
	var none *Decryption
	for _, d := range []*Decryption{none, {}} {
		if d.AllowsKind("age") || d.AllowsKey("age", "age1x") || d.AllowsKey("", "") || d.AllowsRole("arn:aws:iam::1:role/x") {
			t.Errorf("%+v allows something", d)
		}
	}
}

func TestAllowsKey(t *testing.T) {
	t.Parallel()
	d := mustParse(t, head+`  - name: a
    decryption:
      keys:
        - age: [age1abc, 'ssh-ed25519 SHA256:ab/c+d', 'age1pq1*']
        - pgp: 85d77543b3d624b63cea9e6dbc17301b491b3f21
        - kms: arn:aws:kms:eu-*:123456789012:{key,alias}/*
        - gcp_kms: [projects/p/locations/*/keyRings/r/cryptoKeys/k-*, projects/q/**]
        - azure_kv: ['https://{shop,web}.vault.azure.net/keys/*']
        - hc_vault:
          - https://vault.example.com:8200/v1/transit/keys/payments-*
          - HTTPS://Plain.example.com:443/v1/transit/keys/a/
          - http://127.0.0.1:*/v1/*/keys/a
          - https://proxy.example.com/**
        - hckms: eu-west-101:*
      roles: [arn:aws:iam::123456789012:role/sops-*, 'arn:aws:iam::*:role/ci/**']
`).For(Subject{}).Decryption
	for _, test := range []struct {
		kind, name string
		want       bool
	}{
		{"age", "age1abc", true},
		{"age", "age1abcd", false},
		{"age", "AGE1ABC", false},
		{"age", "ssh-ed25519 SHA256:ab/c+d", true},
		{"age", "age1pq1/x", true},
		{"age", "", false},
		{"pgp", "85D77543B3D624B63CEA9E6DBC17301B491B3F21", true},
		{"pgp", "85d77543b3d624b63cea9e6dbc17301b491b3f21", true},
		{"pgp", "BC17301B491B3F21", false},

		{"kms", "arn:aws:kms:eu-central-1:123456789012:key/a/b", true},
		{"kms", "arn:aws:kms:eu-west-1:123456789012:alias/a", true},
		{"kms", "arn:aws:kms:us-east-1:123456789012:key/a", false},
		{"kms", "arn:aws:kms:eu-west-1:999999999999:key/a", false},
		{"kms", "arn:aws:kms:eu-west-1:999999999999:key/a:123456789012:key/b", false},
		{"kms", "arn:aws:kms:eu-.evil.example/:123456789012:key/a", false},
		{"kms", "", false},

		{"gcp_kms", "projects/p/locations/global/keyRings/r/cryptoKeys/k-1", true},
		{"gcp_kms", "projects/p/locations/a/keyRings/b/locations/c/keyRings/r/cryptoKeys/k-1", false},
		{"gcp_kms", "projects/p/locations/global/keyRings/r/cryptoKeys/k-1/x", false},
		{"gcp_kms", "projects/q/locations/global/keyRings/r/cryptoKeys/x", true},

		{"azure_kv", "https://shop.vault.azure.net/keys/x", true},
		{"azure_kv", "https://shop.vault.azure.net:443/keys/x", true},
		{"azure_kv", "https://Web.vault.azure.net/keys/x", true},
		{"azure_kv", "https://evil.vault.azure.net/keys/x", false},
		{"azure_kv", "http://shop.vault.azure.net/keys/x", false},
		{"azure_kv", "https://shop.vault.azure.net/keys/x/y", false},
		{"azure_kv", "https://evil.example/shop.vault.azure.net/keys/x", false},
		{"azure_kv", "https://shop.vault.azure.net.evil.example/keys/x", false},
		{"azure_kv", "https://evil.example?.vault.azure.net/keys/x", false},

		{"hc_vault", "https://vault.example.com:8200/v1/transit/keys/payments-api", true},
		{"hc_vault", "HTTPS://Vault.Example.com:8200/v1/transit/keys/payments-api", true},
		{"hc_vault", "https://vault.example.com:8200/v1/transit/keys/shop", false},
		{"hc_vault", "https://vault.example.com:8200/v1/other/keys/payments-api", false},
		{"hc_vault", "https://vault.example.com:8200/v1/transit/keys/payments-a/../shop", false},
		{"hc_vault", "https://vault.example.com:8200/v1/transit/keys/payments-a/b", false},
		{"hc_vault", "https://vault.example.com:8200/v1/transit/keys/payments-%2E%2E", false},
		{"hc_vault", "https://vault.example.com:8200//v1/transit/keys/payments-a", false},
		{"hc_vault", "https://vault.example.com/v1/transit/keys/payments-a", false},
		{"hc_vault", "http://vault.example.com:8200/v1/transit/keys/payments-a", false},
		{"hc_vault", "https://vault.example.com:8200.evil.example/v1/transit/keys/payments-a", false},
		{"hc_vault", "https://vault.example.com:8200@evil.example/v1/transit/keys/payments-a", false},
		{"hc_vault", "https://me@vault.example.com:8200/v1/transit/keys/payments-a", false},
		{"hc_vault", "https://vault.example.com:8200\\@evil.example/v1/transit/keys/payments-a", false},
		{"hc_vault", "https://evil.example/https://vault.example.com:8200/v1/transit/keys/payments-a", false},
		{"hc_vault", "\thttps://vault.example.com:8200/v1/transit/keys/payments-a", false},
		{"hc_vault", "vault.example.com:8200/v1/transit/keys/payments-a", false},
		{"hc_vault", "https://vault.example.com:8200/v1/transit/keys/payments-" + long(maxAddress), false},
		{"hc_vault", "https://[::1]:8200/v1/transit/keys/payments-a", false},
		{"hc_vault", "https://plain.example.com/v1/transit/keys/a", true},
		{"hc_vault", "https://plain.example.com/v1/transit/keys/a.git", false},
		{"hc_vault", "http://127.0.0.1:18200/v1/transit/keys/a", true},
		{"hc_vault", "http://127.0.0.1:x@evil.example/v1/transit/keys/a", false},
		{"hc_vault", "http://127.0.0.1/v1/transit/keys/a", false},
		{"hc_vault", "https://proxy.example.com/x/v1/a/b/keys/c", true},
		{"hc_vault", "https://proxy.example.com/x/../y", false},
		{"hc_vault", "", false},

		{"hckms", "eu-west-101:0123", true},
		{"hckms", "eu-west-1:0123", false},

		{"role", "arn:aws:iam::123456789012:role/sops-a", true},
		{"role", "arn:aws:iam::123456789012:role/sops-a/admin", false},
		{"role", "arn:aws:iam::123456789012:role/admin", false},
		{"role", "arn:aws:iam::1:role/ci/a/b", true},
		{"role", "arn:aws:iam::1:role/a:role/ci/b", false},
		{"role", "", false},
		{"unknown", "x", false},
	} {
		t.Run(test.kind+" "+test.name[:min(len(test.name), 80)], func(t *testing.T) {
			t.Parallel()
			got := d.AllowsKey(test.kind, test.name)
			if test.kind == "role" {
				got = d.AllowsRole(test.name)
			}
			if got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// A bare kind allows every key of the kind, and none of another.
func TestAllowsBareKind(t *testing.T) {
	t.Parallel()
	d := mustParse(t, head+"  - {name: a, decryption: {keys: [age, kms]}}\n").For(Subject{}).Decryption
	for name, got := range map[string]bool{
		"a kind":               d.AllowsKind("age"),
		"a key":                d.AllowsKey("age", "age1x"),
		"a key without a name": d.AllowsKey("age", ""),
		"an ARN":               d.AllowsKey("kms", "arn:aws:kms:eu-west-1:1:key/a"),
		"no other kind":        !d.AllowsKind("pgp"),
		"no other key":         !d.AllowsKey("pgp", "A"),
		"no ARN in doubt":      !d.AllowsKey("kms", "arn:aws:kms:evil.example/:1:key/a"),
		"no role":              !d.AllowsRole("arn:aws:iam::1:role/a"),
	} {
		if !got {
			t.Error(name)
		}
	}
}

// Any role is still one that programs read in one way.
func TestAllowsAnyRole(t *testing.T) {
	t.Parallel()
	d := mustParse(t, head+"  - {name: a, decryption: {keys: [kms], roles: '*'}}\n").For(Subject{}).Decryption
	if !d.AllowsRole("arn:aws-cn:iam::1:role/a/b") || d.AllowsRole("x") || d.AllowsRole("") {
		t.Error("got another answer")
	}
}
