# The image of the sidecar: one static binary and the CA certificates, as user 999.
#
#   docker buildx build \
#     --build-arg VERSION=v0.1.0 --build-arg REVISION=$(git rev-parse HEAD) \
#     --build-arg SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) \
#     --provenance=false --output type=image,name=hallmark:v0.1.0,rewrite-timestamp=true .
#
# The same commit and arguments give the same bytes: the base is pinned by digest, no path, time or
# build id enters the binary, BuildKit sets the times of files and layers from SOURCE_DATE_EPOCH, and
# adds no attestation, which would hold the time of the build.
# .dockerignore lets nothing into the build but Go source. e2e/image_test.go builds and runs what is
# described here, without a container engine.

# Go cross-compiles, so the build runs on the builder's own platform whatever the target is.
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS build
ENV CGO_ENABLED=0
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel TARGETOS TARGETARCH
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$VERSION" -o /out/hallmark ./cmd/hallmark

FROM scratch
ARG VERSION=devel REVISION=unknown
LABEL org.opencontainers.image.title="hallmark" \
      org.opencontainers.image.source="https://hallmark.dev/hallmark" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/hallmark /hallmark
# The user of repo-server in Argo CD's images, by number: the image needs no /etc/passwd.
USER 999:999
ENTRYPOINT ["/hallmark"]
