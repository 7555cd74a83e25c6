# Built and started by compose.yaml.
FROM python:3.11-slim
RUN useradd --system --home-dir /srv/ckptsite ckptsite && install -d -m 700 -o ckptsite -g ckptsite /data
WORKDIR /srv/ckptsite
COPY . .
RUN pip install --no-cache-dir -e '.[llm,mcp]' && python -m compileall -q ckptsite runs
USER ckptsite
VOLUME /data
