# The image of `dendro serve`, from the Debian package of a release in dist/:
#
#   make release            # or put dendro-VERSION-linux-ARCH.deb of a release there
#   docker build -t dendro .
#   docker run -p 12800:12800 -p 11800:11800 -v dendro:/data -e DENDRO_HTTP_TOKEN -e DENDRO_AGENT_TOKEN dendro
#
# It listens on all addresses, so it does not start without tokens. The base is the index of all
# architectures of debian:bookworm-20260824-slim, by digest, so that a moved tag changes nothing.
#
# tools/image-test runs these steps in an empty Debian system.
FROM debian:bookworm-slim@sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171
ARG TARGETARCH=amd64
COPY dist/dendro-*-linux-${TARGETARCH}.deb /tmp/package/
RUN apt-get update && \
    apt-get install -y --no-install-recommends ca-certificates /tmp/package/*.deb && \
    rm -rf /tmp/package /var/lib/apt/lists/*
RUN groupadd --gid 65532 dendro && \
    useradd --uid 65532 --gid dendro --no-create-home --shell /usr/sbin/nologin dendro && \
    install -d -o dendro -g dendro /data
USER dendro
ENV DENDRO_STORE=/data/dendro.duckdb
VOLUME /data
EXPOSE 12800 11800
ENTRYPOINT ["/usr/bin/dendro"]
CMD ["serve", "--http-listen", "0.0.0.0:12800", "--grpc-listen", "0.0.0.0:11800", "--require-tokens"]
