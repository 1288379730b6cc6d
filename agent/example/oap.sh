#!/bin/sh
# Starts SkyWalking's OAP 10.1.0 for check.sh, without data on disk:
#
#   ./oap.sh DIR HTTPPORT GRPCPORT    for example ./oap.sh /tmp/oap 12811 11811
#
# The first start loads 140 MB into DIR: the jars from Maven Central, the configuration
# from SkyWalking's git repository ($SKYWALKING, GitHub by default). It needs Java 17,
# Maven and git. The server is ready after about 30 seconds and logs
# to DIR/log. SIGTERM stops it.
set -eu
mkdir -p "$1"
cd "$1"
if [ ! -d config ]; then
	git clone -q --depth 1 --branch v10.1.0 --filter blob:none --sparse "${SKYWALKING:-https://github.com/apache/skywalking}" source
	git -C source sparse-checkout set oap-server/server-starter/src/main/resources
	mv source/oap-server/server-starter/src/main/resources config
fi
if [ ! -d lib ]; then
	cat >pom.xml <<-'P'
		<project>
		  <modelVersion>4.0.0</modelVersion>
		  <groupId>check</groupId><artifactId>oap</artifactId><version>1</version><packaging>pom</packaging>
		  <dependencies><dependency>
		    <groupId>org.apache.skywalking</groupId><artifactId>server-starter</artifactId><version>10.1.0</version>
		  </dependency></dependencies>
		</project>
	P
	mvn -q -B -ntp org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DincludeScope=runtime -DoutputDirectory=jars
	mv jars lib
fi
export SW_CORE_REST_HOST=127.0.0.1 SW_CORE_REST_PORT="$2" SW_CORE_GRPC_HOST=127.0.0.1 SW_CORE_GRPC_PORT="$3"
export SW_STORAGE=h2 SW_PROMQL=- SW_LOGQL=- SW_RECEIVER_AWS_FIREHOSE=- # the last three listen on ports of their own
exec java -Xmx1g -cp 'config:lib/*' org.apache.skywalking.oap.server.starter.OAPServerStartUp >log 2>&1
